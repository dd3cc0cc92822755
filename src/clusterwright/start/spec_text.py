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
from clusterwright.spec.hardware.lanes import can_join
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.start.frontend import needs_chip_settings
from clusterwright.start.sizing_request import FIRST_DISTRIBUTION, SizedTier, Sizing, SizingRequest
from clusterwright.text.templates import template

_KEPT = ("gpus", "switches.", "oversubscription.", "narrowest.")  # figures that express the request
_ASNS_OF_TIER = 100_000  # more than the switches of any tier
_FIBRE_M = 5  # within a rack
_RACK_M = 3  # from the top of 42 units to their foot, with slack at both ends
_ROUNDING = 1e-6
_SPARE = 0.75  # share of the bandwidth left without one of a tier's switches: a rollout takes one after the other


@dataclass(frozen=True, slots=True)
class TierText:
    """A tier with its cables, in metres, and the first of its AS numbers, 0 for none."""

    sized: SizedTier
    medium: str
    length_m: int
    asn: int

    @property
    def join(self) -> str:
        """The value of ``join``; empty for the default."""
        return "" if self.sized.join == "all" else self.sized.join

    @property
    def asn_per(self) -> str:
        """One AS number for the uppermost tier, so that a route with it in its path is a loop; else one a switch."""
        return "switch" if self.sized.up_links else "tier"


def spec_text(request: SizingRequest, sizing: Sizing, figures: Mapping[str, float], file: str) -> str:
    """The commented YAML for ``request``; ``figures`` of its plan become its expectations.

    ``file`` is the later name of the spec, for the commands in its comments.
    """
    tiers = (*sizing.backend, *sizing.frontend, *sizing.management)
    group_names = ", ".join(group.name for group in request.groups)
    is_infiniband = request.fabric == "infiniband"
    medium, length_m = ("aoc", 15) if request.rails else ("dac", 2)
    backend_cables = host_cables(request, sizing.backend[0], "backend", medium, length_m)
    frontend_cables = host_cables(request, sizing.frontend[0], "frontend", "dac", 2)
    return template("start/cluster.yaml.j2").render(
        title=spec_title(request),
        file=file,
        name=request.name,
        hardware=json.dumps(request.hardware, ensure_ascii=False) if request.hardware else "",
        groups=request.groups,
        several=group_names,
        one_or_all=group_names if request.tenants == 1 else f"[{group_names}]",
        node_model=request.node_model,
        is_existing=not request.node_model.runs_images or request.distribution != FIRST_DISTRIBUTION,
        distribution=request.distribution,
        # With Kubernetes, NVIDIA's DRA driver forms NVLink domains from the nodes of each job.
        domain_nodes=request.node_model.nvlink_domain_nodes if request.scheduler != "kueue" else None,
        block_nodes=min(group.count % sizing.rack_nodes or sizing.rack_nodes for group in request.groups),
        fabric=request.fabric,
        rails=request.rails,
        **driver_words(request.node_model),
        storage=request.storage,
        scheduler=request.scheduler,
        sizing=sizing,
        mtu=4096 if is_infiniband else 9000,
        scheduled_below="pod" if request.rails else "rack",
        backend=tier_texts(sizing.backend, 0 if is_infiniband else 4200100000, *backend_cables),
        frontend=tier_texts(sizing.frontend, 4200500000, *frontend_cables),
        management=tier_texts(sizing.management, 4200800000, "copper", 30),
        describe=_described(request, sizing),
        engine="updn" if len(sizing.backend) == 1 else "ftree",  # ftree routes no lone switch
        percent=_percent(tiers),
        figures=expectations(request, sizing, figures),
        chips=sorted({stage.model.name for stage in tiers if needs_chip_settings(stage.model)}),
    )


def expectations(request: SizingRequest, sizing: Sizing, figures: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Figures of the plan that express the request, each with its value and tolerance in the spec's notation."""
    expected = []
    for name, value in figures.items():
        if not name.startswith(_KEPT):
            continue
        kind, _, tier = name.partition(".")
        mean = figures.get(f"oversubscription.{tier}", 0.0)
        if kind == "narrowest" and value <= max(1.0, mean) + _ROUNDING:
            continue  # the mean implies it
        tolerance = _ROUNDING
        if kind == "oversubscription" and f"narrowest.{tier}" not in figures:
            tolerance += max(0.0, _fullest(request, sizing) / value - 1)
        expected.append((name, f"{value:.10g}", f"{tolerance:.6f}"))
    return expected


def driver_words(model: HardwareModel) -> dict[str, Any]:
    """The driver of a model's GPUs, with its packages for NVSwitches; None for an unknown vendor."""
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


def host_cables(request: SizingRequest, leaf: SizedTier, nics: str, medium: str, length_m: int) -> tuple[str, int]:
    """Medium and length in metres of the cables to nodes.

    Active cables where copper does not reach through a rack; single-mode fibre where ports and adapters differ in
    lanes, as its transceivers have optical lanes in common.
    """
    group = request.node_model.nic_group(nics)
    if medium == "dac" and group is not None and reach_m(group.speed_gbps) < _RACK_M:
        medium, length_m = "aoc", _RACK_M
    if group is None or group.lanes is None or (request.fabric == "infiniband" and nics == "backend"):
        return medium, length_m
    leaf_lanes = _first_lanes(leaf.model, group.speed_gbps)
    if leaf_lanes is None or can_join(medium, group.speed_gbps, group.lanes, leaf_lanes):
        return medium, length_m
    return "smf", max(length_m, _FIBRE_M)


def _first_lanes(model: HardwareModel, speed_gbps: int) -> int | None:
    """Lanes of a model's first ports with this speed; None if it has none."""
    for block in model.blocks:
        mode = block.mode(speed_gbps)
        lanes = block.lanes(mode) if mode is not None else 0
        if lanes:
            return lanes
    return None


def tier_texts(stages: tuple[SizedTier, ...], asn: int, medium: str, length_m: int) -> list[TierText]:
    """Tiers with their cables: ``medium`` from nodes to the lowest tier, multimode fibre between switches."""
    texts = []
    for tier, stage in enumerate(stages):
        first_asn = asn + _ASNS_OF_TIER * (tier + 1) if asn else 0
        if tier == 0:
            texts.append(TierText(sized=stage, medium=medium, length_m=length_m, asn=first_asn))
        else:
            texts.append(TierText(sized=stage, medium="mmf", length_m=30, asn=first_asn))
    return texts


def spec_title(request: SizingRequest) -> str:
    """The request in a line."""
    shared = f", {request.tenants} tenants" if request.tenants > 1 else ""
    return f"{request.nodes} {request.node_model.name} on {request.fabric}{shared}"


def _described(request: SizingRequest, sizing: Sizing) -> str:
    leaf = sizing.backend[0]
    shape = "a leaf for each rail of a pod" if request.rails else "a leaf for each rack"
    counts = ", ".join(f"{stage.switches} {stage.role}" for stage in sizing.backend)
    return f"{shape}, {leaf.up_links} uplinks of {leaf.up_speed_gbps}G each ({counts})"


def _fullest(request: SizingRequest, sizing: Sizing) -> float:
    """Bandwidth of the NICs below a full leaf over that of its uplinks; the last leaves may have fewer NICs."""
    leaf, nics = sizing.backend[0], request.node_model.nic_group("backend")
    rails, speed = (len(nics.nics), nics.speed_gbps) if nics else (0, 0)
    if request.rails:
        ports = min(request.groups[0].count, sizing.pod_racks * sizing.rack_nodes)
    else:
        ports = sizing.rack_nodes * rails
    return ports * speed / (leaf.up_links * leaf.up_speed_gbps)


def _percent(stages: tuple[SizedTier, ...]) -> int:
    """Expected share of the bandwidth above the nodes, in per cent, while one switch of the smallest tier is away."""
    uppermost = [stage for stage in stages if not stage.up_links]
    fewest = min((stage.count for stage in uppermost if stage.count > 1), default=2)
    return int(100 * _SPARE * (1 - 1 / fewest))
