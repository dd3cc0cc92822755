"""The text of a first spec, from its sizing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.plan.racks.lengths import reach_m
from clusterwright.spec.hardware.accelerators import (
    BY_NODE_WITH_NVLSM,
    fabric_manager_of,
    runs_fabric_manager,
    vendor_of,
)
from clusterwright.spec.hardware.cages import PortBlock
from clusterwright.spec.hardware.lanes import can_join
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.start.sizing import needs_chip_settings
from clusterwright.start.wish import FIRST_DISTRIBUTION, SizedTier, Sizing, Wish
from clusterwright.text.templates import template

_KEPT = ("gpus", "switches.", "oversubscription.", "narrowest.")  # the figures that say what was wanted
_ASNS_OF_TIER = 100_000  # apart: no tier has as many switches
_FIBRE_M = 5  # within a rack
_RACK_M = 3  # from the top of 42 units to their foot, with slack at both ends
_ROUNDING = 1e-6
_SPARE = 0.75  # of what stays where one of a tier's switches is away: a rollout takes one after the other


@dataclass(frozen=True, slots=True)
class TierText:
    """A tier with its cables, in metres, and the first of its AS numbers, 0 for none."""

    sized: SizedTier
    medium: str
    length_m: int
    asn: int

    @property
    def join(self) -> str:
        """What is not said by leaving it out."""
        return "" if self.sized.join == "all" else self.sized.join

    @property
    def asn_per(self) -> str:
        """The uppermost tier has one number: what it hears of itself is a loop."""
        return "switch" if self.sized.up_links else "tier"


def spec_text(wish: Wish, sizing: Sizing, figures: Mapping[str, float], file: str) -> str:
    """The commented YAML of what ``wish`` asked for; ``figures`` of its plan become its expectations.

    ``file`` is what the spec will be called, for the commands that its comments name.
    """
    fabrics = (*sizing.backend, *sizing.frontend, *sizing.management)
    return template("start/cluster.yaml.j2").render(
        title=spec_title(wish),
        file=file,
        name=wish.name,
        hardware=json.dumps(wish.hardware, ensure_ascii=False) if wish.hardware else "",
        groups=wish.groups,
        several=", ".join(group.name for group in wish.groups),
        one_or_all=wish.groups[0].name if wish.tenants == 1 else f"[{', '.join(group.name for group in wish.groups)}]",
        node_model=wish.node_model,
        is_existing=not wish.node_model.runs_images or wish.distribution != FIRST_DISTRIBUTION,
        distribution=wish.distribution,
        # Where Kubernetes places jobs, NVIDIA's DRA driver makes domains of the nodes of each job.
        domain_nodes=wish.node_model.nvlink_domain_nodes if wish.scheduler != "kueue" else None,
        block_nodes=min(group.count % sizing.rack_nodes or sizing.rack_nodes for group in wish.groups),
        fabric=wish.fabric,
        rails=wish.rails,
        **driver_words(wish.node_model),
        storage=wish.storage,
        scheduler=wish.scheduler,
        sizing=sizing,
        mtu=4096 if wish.fabric == "infiniband" else 9000,
        scheduled_below="pod" if wish.rails else "rack",
        backend=tier_texts(
            sizing.backend,
            0 if wish.fabric == "infiniband" else 4200100000,
            *host_cables(wish, sizing.backend[0], "backend", *(("aoc", 15) if wish.rails else ("dac", 2))),
        ),
        frontend=tier_texts(sizing.frontend, 4200500000, *host_cables(wish, sizing.frontend[0], "frontend", "dac", 2)),
        management=tier_texts(sizing.management, 4200800000, "copper", 30),
        describe=_described(wish, sizing),
        engine="updn" if len(sizing.backend) == 1 else "ftree",  # ftree routes no lone switch
        percent=_percent(fabrics),
        figures=expectations(wish, sizing, figures),
        chips=sorted({stage.model.name for stage in fabrics if needs_chip_settings(stage.model)}),
    )


def expectations(wish: Wish, sizing: Sizing, figures: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Figures of the plan that say what was wished, each with its value and tolerance as the spec writes them."""
    expected = []
    for name, value in figures.items():
        if not name.startswith(_KEPT):
            continue
        kind, _, tier = name.partition(".")
        mean = figures.get(f"oversubscription.{tier}", 0.0)
        if kind == "narrowest" and value <= max(1.0, mean) + _ROUNDING:
            continue  # the mean says as much
        tolerance = _ROUNDING
        if kind == "oversubscription" and f"narrowest.{tier}" not in figures:
            tolerance += max(0.0, _fullest(wish, sizing) / value - 1)
        expected.append((name, f"{value:.10g}", f"{tolerance:.6f}"))
    return expected


def driver_words(model: HardwareModel) -> dict[str, Any]:
    """The driver of a model's GPUs and what it needs of their NVSwitches; None where their vendor is not known."""
    vendor = vendor_of(model.gpus) if model.gpus is not None else None
    driver = vendor.first_driver if vendor is not None else None
    if vendor is None or driver is None:
        return {"driver": None}
    packages = [*driver.packages]
    if runs_fabric_manager(model) and driver.fabric_manager is not None:
        packages.append(driver.fabric_manager)
    if fabric_manager_of(model) == BY_NODE_WITH_NVLSM and vendor.fabric_manager is not None:
        packages.append(vendor.fabric_manager.subnet_manager)
    return {"driver": driver, "driver_packages": packages, "driver_of": vendor.title}


def host_cables(wish: Wish, leaf: SizedTier, nics: str, medium: str, length_m: int) -> tuple[str, int]:
    """Medium and length in metres of the cables to nodes.

    Active cables where copper does not reach through a rack; single-mode fibre where ports and adapters differ in
    lanes, as its transceivers have optical lanes in common.
    """
    group = wish.node_model.nic_group(nics)
    if medium == "dac" and group is not None and reach_m(group.speed_gbps) < _RACK_M:
        medium, length_m = "aoc", _RACK_M
    modes = [] if group is None else [mode for block in leaf.model.blocks if (mode := _at(block, group.speed_gbps))]
    if group is None or group.lanes is None or not modes or (wish.fabric == "infiniband" and nics == "backend"):
        return medium, length_m
    if can_join(medium, group.speed_gbps, group.lanes, modes[0]):
        return medium, length_m
    return "smf", max(length_m, _FIBRE_M)


def _at(block: PortBlock, speed_gbps: int) -> int | None:
    """The lanes of a block's ports at a speed."""
    mode = block.mode(speed_gbps)
    return None if mode is None else block.lanes(mode)


def tier_texts(stages: tuple[SizedTier, ...], asn: int, medium: str, length_m: int) -> list[TierText]:
    """Nodes hang on the lowest tier by ``medium``; between switches there is multimode fibre across the room."""
    return [
        TierText(stage, *(("mmf", 30) if at else (medium, length_m)), asn + _ASNS_OF_TIER * (at + 1) if asn else 0)
        for at, stage in enumerate(stages)
    ]


def spec_title(wish: Wish) -> str:
    """What was wished, in a line."""
    shared = f", {wish.tenants} tenants" if wish.tenants > 1 else ""
    return f"{wish.nodes} {wish.node_model.name} on {wish.fabric}{shared}"


def _described(wish: Wish, sizing: Sizing) -> str:
    leaf = sizing.backend[0]
    shape = "a leaf for each rail of a pod" if wish.rails else "a leaf for each rack"
    counts = ", ".join(f"{stage.switches} {stage.role}" for stage in sizing.backend)
    return f"{shape}, {leaf.up_links} uplinks of {leaf.up_speed_gbps}G each ({counts})"


def _fullest(wish: Wish, sizing: Sizing) -> float:
    """Bandwidth of the NICs below a full leaf over that of its uplinks, of which the last ones may have more."""
    leaf, nics = sizing.backend[0], wish.node_model.nic_group("backend")
    rails, speed = (len(nics.nics), nics.speed_gbps) if nics else (0, 0)
    ports = min(wish.groups[0].count, sizing.pod_racks * sizing.rack_nodes) if wish.rails else sizing.rack_nodes * rails
    return ports * speed / (leaf.up_links * leaf.up_speed_gbps)


def _percent(stages: tuple[SizedTier, ...]) -> int:
    """Of the bandwidth above the nodes, what is there still while one of the fewest switches of a kind is away."""
    fewest = min((stage.count for stage in stages if not stage.up_links and stage.count > 1), default=2)
    return int(100 * _SPARE * (1 - 1 / fewest))
