"""Figures of a cluster by dotted name, as ``expect:`` writes them, computed from the skeleton without expanding it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from clusterwright.plan.bandwidth import narrowest_planned
from clusterwright.plan.racks.filling import fill_racks
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.hardware.models import DEVICE, Gpus, HardwareModel
from clusterwright.spec.model import ClusterSpec

TB_PER_PB = 1000
W_PER_KW = 1000
TFLOPS_PER_PFLOPS = 1000


def figures(spec: ClusterSpec, skeleton: Skeleton) -> Mapping[str, float]:
    """All figures, in a fixed order.

    ``nodes`` and ``gpus`` count machines with GPUs and their GPUs; ``racks`` the racks with nodes;
    ``groups.LEVEL.NODEGROUP`` instances of a level; ``devices.ROLE`` devices with management ports alone;
    ``switches.ROLE``; ``links.FABRIC.ROLE`` cables from below to a tier; ``ports_used.ROLE`` all used ports of a role's
    switches in that fabric; ``oversubscription.FABRIC.ROLE`` the bandwidth of all NICs at or below a tier over the
    bandwidth of that tier's uplinks, ``narrowest.FABRIC.ROLE`` the same at the switch of an Ethernet tier with the
    least; ``storage_pb`` usable petabytes; ``power_kw`` the power of all devices as the catalogue rates them, and
    ``rack_power_kw`` that of the devices in the fullest rack, see :func:`power`; ``peak_petaflops.FORMAT`` the peak
    performance of all GPUs, for formats listed in the catalogue for each of them.
    """
    present = Counter(node.node_group for node in skeleton.layout.nodes)
    counts = [(group, present[index]) for index, group in enumerate(spec.node_groups)]
    with_gpus = [(group.model.gpus, count) for group, count in counts if group.model.gpus]
    all_figures: dict[str, float] = {
        "nodes": sum(count for _, count in with_gpus),
        "gpus": sum(count * gpus.count for gpus, count in with_gpus),
    }
    counted = Counter((group.level, group.node_group) for group in skeleton.layout.groups)
    for group in spec.node_groups:
        if group.inside is not None:
            continue
        for level in group.levels:
            all_figures[f"groups.{level.name}.{group.name}"] = counted[level.name, group.name]
    all_figures["racks"] = sum(value for name, value in all_figures.items() if name.startswith("groups.rack."))
    for group, count in counts:
        if group.model.kind == DEVICE:
            all_figures[f"devices.{group.role}"] = all_figures.get(f"devices.{group.role}", 0) + count
    for fabric in skeleton.fabrics:
        for name, value in _fabric_figures(spec, fabric).items():
            all_figures[name] = all_figures.get(name, 0) + value
    petabytes = sum(count * group.model.capacity_tb for group, count in counts) / TB_PER_PB
    if petabytes:
        all_figures["storage_pb"] = petabytes
    racks = fill_racks(spec, skeleton)
    all_figures.update(power(racks.contents, is_rack=racks.is_rack))
    all_figures.update(peak_petaflops(with_gpus))
    return all_figures


def power(contents: Mapping[str, Sequence[HardwareModel]], is_rack: Callable[[str], bool]) -> Mapping[str, float]:
    """Sum ``power_kw`` over all models, and ``rack_power_kw`` over those of the rack with the most.

    Without the power of every model there is no figure, and none of racks if a place is no rack (``is_rack``): a sum
    or a maximum over the others would be too small.
    """
    if not all(model.has_power for model in chain.from_iterable(contents.values())):
        return {}
    watts: dict[str, float] = {}
    for place, models in contents.items():
        watts[place] = sum(model.power_w for model in models)
    power_figures = {"power_kw": sum(watts.values()) / W_PER_KW}
    if all(is_rack(place) for place in watts):
        power_figures["rack_power_kw"] = max(watts.values(), default=0) / W_PER_KW
    return power_figures


def peak_petaflops(nodes: Iterable[tuple[Gpus, int]]) -> Mapping[str, float]:
    """Peak performance of so many nodes of each kind by format (``peak_petaflops.FORMAT``), in 10^15 a second.

    A format missing in the catalogue for one of the kinds has no figure: a sum over the others would be too small.
    """
    counted = [(dict(gpus.peak_tflops), gpus.count * count) for gpus, count in nodes if count]
    all_figures: dict[str, float] = {}
    if not counted:
        return all_figures
    formats, _ = counted[0]
    for name in formats:
        if not all(name in peak for peak, _ in counted):
            continue
        tflops = sum(peak[name] * gpus for peak, gpus in counted)
        all_figures[f"peak_petaflops.{name}"] = round(tflops / TFLOPS_PER_PFLOPS, 6)
    return all_figures


def promised_shares(spec: ClusterSpec) -> Mapping[str, float]:
    """By fabric, the least promised share of the NICs' bandwidth above any of its tiers, from 0 to 1.

    Fabrics without an oversubscription in `expect` are not in it.
    """
    shares: dict[str, float] = {}
    for item in spec.expectations:
        kind, *rest = item.figure.split(".")
        if kind == "oversubscription" and len(rest) == 2 and item.highest is not None:
            share = 1 / max(1.0, item.highest)
            shares[rest[0]] = min(share, shares.get(rest[0], 1.0))
    return shares


def _fabric_figures(spec: ClusterSpec, skeleton: FabricSkeleton) -> dict[str, float]:
    fabric = skeleton.fabric
    order = tier_order(spec, fabric)
    seats = Counter(seat.tier for seat in skeleton.seats)
    down, hosts_gbps, up = Counter[int](), Counter[int](), Counter[int]()
    for (seat, gbps), count in skeleton.attached_at.items():
        down[skeleton.seats[seat].tier] += count
        hosts_gbps[skeleton.seats[seat].tier] += count * gbps
    for bundle in skeleton.bundles:
        for lower in bundle.lowers:
            below = skeleton.seats[lower].tier
            uplinks = fabric.tiers[below].up
            links = uplinks.links if uplinks else 0
            up[below] += links
            down[bundle.tier] += links
    fabric_figures: dict[str, float] = {}
    for depth, tier in enumerate(fabric.tiers):
        below_gbps = sum(hosts_gbps[lower] for lower in order.at_or_below(depth))
        fabric_figures[f"switches.{tier.role}"] = seats[depth]
        fabric_figures[f"links.{fabric.name}.{tier.role}"] = down[depth]
        fabric_figures[f"ports_used.{tier.role}"] = down[depth] + up[depth]
        if tier.up and up[depth]:
            fabric_figures[f"oversubscription.{fabric.name}.{tier.role}"] = below_gbps / (
                up[depth] * tier.up.speed_gbps
            )
    if fabric.technology != "infiniband":
        for role, load in narrowest_planned(skeleton).items():
            if f"oversubscription.{fabric.name}.{role}" in fabric_figures:
                fabric_figures[f"narrowest.{fabric.name}.{role}"] = load.ratio
    return fabric_figures
