"""Figures of a plan by dotted name, counted device by device and cable by cable.

The names are those of a spec's ``expect:`` block. Counting the expanded plan, instead of multiplying the spec's
numbers, checks the arithmetic of the plan stage before the expansion.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from clusterwright.plan.bandwidth import narrowest_of_cables, oversubscription
from clusterwright.plan.figures import peak_petaflops, power
from clusterwright.spec.model import RACK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Plan
    from clusterwright.spec.hardware.models import Gpus, HardwareModel


def figures(plan: Plan) -> Mapping[str, float]:
    """Every figure of ``plan``, by the names and definitions of :func:`clusterwright.plan.figures.figures`."""
    catalogue = plan.spec.catalogue
    all_figures: dict[str, float] = defaultdict(float, dict.fromkeys(("nodes", "gpus", "racks"), 0.0))
    storage_tb = 0.0
    models_by_rack: dict[str, list[HardwareModel]] = defaultdict(list)
    with_gpus: dict[Gpus, int] = defaultdict(int)
    for device in plan.devices:
        model = catalogue[device.model]
        models_by_rack[device.rack].append(model)
        if device.kind == "switch":
            all_figures[f"switches.{device.role}"] += 1
        elif model.gpus is not None:
            all_figures["nodes"] += 1
            all_figures["gpus"] += model.gpus.count
            with_gpus[model.gpus] += 1
        storage_tb += model.capacity_tb
    for group in plan.groups:
        if group.node_group:
            all_figures[f"groups.{group.level}.{group.node_group}"] += 1
            all_figures["racks"] += group.level == "rack"
    all_figures.update(_link_figures(plan))
    if storage_tb:
        all_figures["storage_pb"] = storage_tb / 1000
    racks = {group.name for group in plan.groups if group.level == RACK}
    all_figures.update(power(models_by_rack, is_rack=lambda place: place in racks))
    all_figures.update(peak_petaflops(with_gpus.items()))
    return dict(sorted(all_figures.items()))


def _link_figures(plan: Plan) -> Mapping[str, float]:
    by_name = plan.by_name
    figures_by_name: dict[str, float] = defaultdict(float)
    for cable in plan.cables:
        lower, upper = by_name[cable.a.device], by_name[cable.b.device]
        figures_by_name[f"links.{cable.fabric}.{upper.role}"] += 1
        figures_by_name[f"ports_used.{upper.role}"] += 1
        if cable.a.side == "up":
            figures_by_name[f"ports_used.{lower.role}"] += 1
    ratios = oversubscription(plan, plan.cables)
    for (fabric, role), ratio in ratios.items():
        figures_by_name[f"oversubscription.{fabric}.{role}"] = ratio
    infiniband = {fabric.name for fabric in plan.spec.fabrics if fabric.technology == "infiniband"}
    for (fabric, role), load in narrowest_of_cables(plan, plan.cables).items():
        if fabric not in infiniband and (fabric, role) in ratios:
            figures_by_name[f"narrowest.{fabric}.{role}"] = load.ratio
    return figures_by_name
