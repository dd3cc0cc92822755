"""Number and models of the switches of a requested cluster: tiers by radix and oversubscription.

Ports are counted by the plan's allocation, not by cages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from clusterwright.plan.ports import capacity
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.start.fit import fits, shares, speeds
from clusterwright.start.frontend import LOWEST_SWITCH_UNITS, frontend_tiers, management_tiers
from clusterwright.start.sizing_request import CannotSizeError, SizedTier, Sizing, SizingRequest

RACK_UNITS = 42  # of a rack without a height in the spec
MOST_NODES_IN_RACK = 4  # about 40 kW of eight-GPU nodes
_SERVICES = 2  # schedulers, boot and log servers: one may fail
_STORAGE = 2
_MORE_OVERSUBSCRIBED = (2, 4, 16)


class SizedFabric(NamedTuple):
    """The tiers of the GPUs' fabric, with the nodes of a rack and the racks of a pod."""

    tiers: tuple[SizedTier, ...]
    rack_nodes: int
    pod_racks: int

    @property
    def switch_units(self) -> float:
        """Rack units of all switches."""
        return sum(tier.switches * tier.model.units for tier in self.tiers)


class _LeafLayout(NamedTuple):
    """Nodes below the leaves of a fabric, and the links of a leaf."""

    rack_nodes: int
    pod_racks: int
    leaves: int
    down_links: int
    fewest_up_links: int


def size(request: SizingRequest, catalogue: Catalogue, service: HardwareModel) -> Sizing:
    """The smallest cluster, in rack units of switches, for ``request``; services run on ``service``.

    Raises CannotSizeError, with the reason.
    """
    front = request.node_model.nic_group("frontend")
    if front is None or request.node_model.nic_group("backend") is None:
        raise CannotSizeError(
            f"{request.node_model.name} has no NIC groups called backend and frontend, which init joins to networks."
            " Name another --node-model, or copy a reference with --from."
        )
    leaf = request.switches[0] if request.switches else None
    fabric = _backend(request, catalogue)
    kinds_of_racks = [(request.node_model, fabric.rack_nodes), (service, _SERVICES)]
    storage_count = 0
    if request.storage is not None:
        kinds_of_racks.append((request.storage, _STORAGE))
        storage_count = _STORAGE
    racks_of_other_kinds = len(kinds_of_racks) - 1
    frontend = frontend_tiers(
        kinds_of_racks,
        count=_racks(request, fabric.rack_nodes) + racks_of_other_kinds,
        catalogue=catalogue,
        beside=fabric.tiers[0].model if leaf is None else leaf,
    )
    switches = sum(tier.switches for tier in (*fabric.tiers, *frontend))
    return Sizing(
        backend=fabric.tiers,
        frontend=frontend,
        management=management_tiers(request.nodes + _SERVICES + storage_count + switches, catalogue),
        rack_nodes=fabric.rack_nodes,
        pod_racks=fabric.pod_racks,
        storage_count=storage_count,
        service_count=_SERVICES,
    )


def _backend(request: SizingRequest, catalogue: Catalogue) -> SizedFabric:
    """The fabric of the GPUs' NICs with the fewest rack units of switches."""
    candidates = _fabrics(request, catalogue)
    if not candidates:
        raise CannotSizeError(f"{_in_the_way(request, catalogue)} {_instead(request, catalogue)}")
    return min(candidates, key=lambda fabric: fabric.switch_units)


def _fabrics(request: SizingRequest, catalogue: Catalogue) -> list[SizedFabric]:
    """Every fabric of the requested switch models, or of one model of the catalogue."""
    if request.switches:
        return list(_ladders(request, *_rungs(request.switches)))
    fabrics: list[SizedFabric] = []
    for model in _switches(request, catalogue):
        fabrics += _ladders(request, leaf=model, spine=model, core=model)
    return fabrics


def _switches(request: SizingRequest, catalogue: Catalogue) -> list[HardwareModel]:
    return [model for model in catalogue.values() if model.blocks and request.fabric in model.technology]


def _rungs(ladder: tuple[HardwareModel, ...]) -> tuple[HardwareModel, HardwareModel, HardwareModel]:
    """The models of leaves, spines and cores."""
    last = len(ladder) - 1
    return ladder[0], ladder[min(1, last)], ladder[min(2, last)]


def _racks(request: SizingRequest, rack: int) -> int:
    """Racks of ``rack`` nodes, each with nodes of one group."""
    return sum(ceil(group.count / rack) for group in request.groups)


def lacking(request: SizingRequest) -> str:
    """The beginning of a sentence about ports missing on the requested switches, or on all of the catalogue."""
    if request.switches:
        return f"{request.switches[0].name} has no"
    return f"No {request.fabric} switch of the catalogue has"


def _in_the_way(request: SizingRequest, catalogue: Catalogue) -> str:
    """The reason why no fabric fits, in a sentence."""
    node = request.node_model.name
    rails, speed = _nics(request)
    leaves = request.switches[:1] or _switches(request, catalogue)
    if not any(capacity(model, (), speed) for model in leaves):
        return f"{lacking(request)} ports of {speed}G, which the NICs of {node} have."
    tiers, names = "three" if request.rails else "two", f"any {request.fabric} switch of the catalogue"
    beyond = ""
    if request.switches:
        leaf, spine, core = _rungs(request.switches)
        if leaf.kind == "director":
            return f"{leaf.name} is a director, which has no switch above it: it can be a spine, and is no leaf."
        shared, ups = speeds(leaf, spine, speed), _uplinks(request, leaf, spine)
        if not ups:
            if shared:
                speeds_text = " and ".join(f"{rate}G" for rate in shared)
                return (
                    f"{leaf.name} meets {spine.name} at {speeds_text} alone, and uplinks on InfiniBand are as"
                    f" fast as the NICs of {node}, {speed}G."
                )
            return f"{leaf.name} and {spine.name} share no speed at which port meets port lane by lane."
        if request.rails and spine.kind == "director":
            tiers, beyond = "two", f", and above {spine.name}, a director, there is no third"
        elif request.rails and not any(capacity(core, (), up) for up in ups):
            need = " or ".join(f"{up}G" for up in ups)
            tiers, beyond = "two", f", and {core.name}, named for a third, has no ports of {need}"
        used = request.switches[: 2 if tiers == "two" else 3]
        names = " and ".join(dict.fromkeys(model.name for model in used))
    unit = "rail" if request.rails else "rack"
    shape = f"{tiers} tiers, a leaf for each {unit},"
    return (
        f"{request.nodes} {node} with {rails} NICs of {speed}G do not fit on {shape} of {names} at"
        f" 1:{request.oversubscription:g}{beyond}."
    )


def _instead(request: SizingRequest, catalogue: Catalogue) -> str:
    """A sentence with changed flags under which a fabric was found."""
    alternatives = []
    for ratio in _MORE_OVERSUBSCRIBED:
        if ratio > request.oversubscription and _fabrics(replace(request, oversubscription=ratio), catalogue):
            alternatives.append(f"with --oversubscription {ratio}")
            break
    if not request.rails and _fabrics(replace(request, rails=True), catalogue):
        alternatives.append("with --rails")
    if request.switches and _fabrics(replace(request, switches=()), catalogue):
        alternatives.append("with switches of init's choice, without --switch-model")
    if alternatives:
        return f"The nodes fit {', or '.join(alternatives)}; `clusterwright models` lists switches with their ports."
    most = _MORE_OVERSUBSCRIBED[-1]
    if _fabrics(replace(request, switches=(), rails=True, oversubscription=most), catalogue):
        return f"The nodes fit with --rails and --oversubscription {most} alone, without --switch-model."
    return "No switches of the catalogue carry them: take fewer --nodes, or another --node-model or --fabric."


def _nics(request: SizingRequest) -> tuple[int, int]:
    """NICs of a node on the GPUs' fabric, and their speed in Gb/s."""
    group = request.node_model.nic_group("backend")
    return (len(group.nics), group.speed_gbps) if group else (0, 0)


def _uplinks(request: SizingRequest, leaf: HardwareModel, spine: HardwareModel) -> list[int]:
    """Possible speeds of uplinks: on InfiniBand that of the adapters, since lint and proofs compare link counts."""
    _, nic_speed = _nics(request)
    common_speeds = speeds(leaf, spine, nic_speed)
    if request.fabric == "infiniband":
        return [speed for speed in common_speeds if speed == nic_speed]
    return common_speeds


def _ladders(
    request: SizingRequest, leaf: HardwareModel, spine: HardwareModel, core: HardwareModel
) -> Iterator[SizedFabric]:
    """Fabrics of these models, at most one for each speed of the uplinks: of two tiers if possible, else of three."""
    if leaf.kind == "director":  # a director has no switch above it
        return
    for up_speed_gbps in _uplinks(request, leaf, spine):
        layout = _leaf_layout(request, leaf, up_speed_gbps)
        if layout is None:
            continue
        tiers = _tiers(request, layout, up_speed_gbps, (leaf, spine, core))
        if tiers is not None:
            yield SizedFabric(tiers, layout.rack_nodes, layout.pod_racks)


def _leaf_layout(request: SizingRequest, leaf: HardwareModel, up_speed_gbps: int) -> _LeafLayout | None:
    """Nodes and links below the leaves; None if a leaf has too few ports for a node or an NVLink domain."""
    rails, speed = _nics(request)
    ratio = speed / (request.oversubscription * up_speed_gbps)
    leaf_units = 0 if request.rails else ceil(leaf.units)
    space = RACK_UNITS - LOWEST_SWITCH_UNITS - leaf_units
    largest = request.groups[0].count  # a rack and a pod have nodes of one tenant
    domain = request.node_model.nvlink_domain_nodes
    rack = min(largest, domain or MOST_NODES_IN_RACK, space // ceil(request.node_model.units))
    node_ports = 1 if request.rails else rails  # on one leaf
    most = min(largest if request.rails else rack, capacity(leaf, (), speed) // node_ports)
    widest = 0
    for nodes in range(most, 0, -1):
        down_links = nodes * node_ports
        if fits(leaf, [(speed, down_links)], up_speed_gbps, max(2, ceil(down_links * ratio))):
            widest = nodes
            break
    if widest == 0 or (domain is not None and widest < rack):
        return None  # an NVLink domain is sold as a whole rack
    racks = ceil(largest / min(rack, widest))
    if domain is None:
        rack = ceil(largest / racks)  # fill all racks alike
    if request.rails:
        pods = 1 if widest >= largest else ceil(racks / (widest // rack))
        pod_racks = ceil(racks / pods)
        pods = sum(ceil(ceil(group.count / rack) / pod_racks) for group in request.groups)
        leaves, down_links = rails * pods, min(largest, pod_racks * rack)
    else:
        pod_racks, leaves, down_links = racks, _racks(request, rack), rack * rails
    return _LeafLayout(
        rack_nodes=rack,
        pod_racks=pod_racks,
        leaves=leaves,
        down_links=down_links,
        fewest_up_links=max(2, ceil(down_links * ratio)),
    )


def _tiers(
    request: SizingRequest,
    layout: _LeafLayout,
    up_speed_gbps: int,
    models: tuple[HardwareModel, HardwareModel, HardwareModel],
) -> tuple[SizedTier, ...] | None:
    """Leaves, spines and, with rails, cores if necessary, with the fewest uplinks; None if ports are too few."""
    leaf, spine, core = models
    rails, speed = _nics(request)
    per, join = ("pod", "rail") if request.rails else ("rack", "all")
    for up_links in range(layout.fewest_up_links, 2 * layout.fewest_up_links):
        if not fits(leaf, [(speed, layout.down_links)], up_speed_gbps, up_links):
            return None
        lowest = SizedTier(
            role="leaf",
            model=leaf,
            per=per,
            join=join,
            count=1,
            switches=layout.leaves,
            up_links=up_links,
            up_speed_gbps=up_speed_gbps,
        )
        tiers = _spines(lowest, spine)
        if tiers is None and request.rails:
            tiers = _planes(lowest, rails, spine, core)
        if tiers is not None:
            return tiers
    return None


def _spines(leaf: SizedTier, spine: HardwareModel) -> tuple[SizedTier, ...] | None:
    """Leaves under spines, with equal numbers of links from every leaf to every spine; None if ports are too few."""
    for count in shares(leaf.up_links):
        if not _fills_chips(spine, leaf.up_links // count):
            continue
        if fits(spine, [(leaf.up_speed_gbps, leaf.switches * leaf.up_links // count)], 0, 0):
            return leaf, SizedTier(role="spine", model=spine, per="cluster", join="all", count=count, switches=count)
    return None


def _fills_chips(director: HardwareModel, links: int) -> bool:
    """Whether the ``links`` of every switch to a director end on equally many of its chips (CW246)."""
    front = director.chips.external if director.chips else links
    return front % links == 0 or links % front == 0


def _planes(leaf: SizedTier, rails: int, spine: HardwareModel, core: HardwareModel) -> tuple[SizedTier, ...] | None:
    """Leaves under spines of one rail each, and cores above all rails; None if ports are too few."""
    speed = leaf.up_speed_gbps
    if spine.kind == "director":
        return None
    for count in shares(leaf.up_links):
        down = leaf.switches // rails * leaf.up_links // count
        if not fits(spine, [(speed, down)], speed, down):
            continue
        for cores in shares(down):
            if not fits(core, [(speed, rails * down // cores)], 0, 0):
                continue
            middle = SizedTier(
                role="spine",
                model=spine,
                per="cluster",
                join="rail",
                count=count,
                switches=rails * count,
                up_links=down,
                up_speed_gbps=speed,
            )
            highest = SizedTier(
                role="core", model=core, per="cluster", join="position", count=cores, switches=count * cores
            )
            return leaf, middle, highest
    return None
