"""Permitted flows without a path in the network between their ends.

Filters decide which packets may pass, cables which can. Two hosts are connected on a fabric as in ``reachability``; an
address outside is reached at the switch of a border that names its zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.plan.meeting import Wiring
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.ethernet.network import has_network
from clusterwright.proofs.ethernet.pieces import wirings
from clusterwright.proofs.isolation.declared import (
    OUTSIDE,
    DeclaredBorder,
    DeclaredFabric,
    DeclaredFlow,
    DeclaredIsolation,
)
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import ROUTERS

_Reach = tuple[tuple[str, int], ...]  # fabric, and a bit for each switch where the device is connected to others


def carried_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Permitted flows between hosts without a path, with one such pair each."""
    if not has_network(tree) or _unread(tree):
        return
    wiring_by_fabric = wirings(tree)
    members = _members(declared, wiring_by_fabric)
    for flow in declared.flows:
        fabrics = {fabric.name for fabric in declared.fabrics if _can_carry(fabric, flow)}
        pair = _parted(declared, members, flow, frozenset(fabrics))
        if pair is None:
            pair = _cut_off(declared, members, wiring_by_fabric, flow)
        if pair is not None:
            source, target, switch = pair
            message = f"flow {flow.name} is permitted and cannot be carried: no path leads from {source} to {target}"
            yield Counterexample(device=switch, file=_router_file(tree, switch), line=0, message=message)


def _can_carry(fabric: DeclaredFabric, flow: DeclaredFlow) -> bool:
    return fabric.technology == "roce" or not flow.is_rdma


def _router_file(tree: RenderedTree, switch: str) -> str:
    """Configuration file of a routing switch; "" without one."""
    for router in ROUTERS:
        if (switch, router.file) in tree.files:
            return router.file
    return ""


def uncarried_notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """Outside zones of flows without a border: the spec has no path there, and nothing proves one."""
    unread = _unread(tree)
    if unread:
        yield f"whether the flows have a path was not checked: there is no text of {and_more(unread, 3)}"
    bordered = set(chain.from_iterable(border.zones for border in declared.borders))
    outside = {zone.name for zone in declared.zones if zone.on(OUTSIDE)} - bordered
    lost: dict[str, list[str]] = {}
    for flow in declared.flows:
        for name in sorted({flow.source, flow.target} & outside):
            lost.setdefault(name, []).append(flow.name)
    if has_network(tree):
        for name, flows in sorted(lost.items()):
            yield (
                f"no border leads to {name}, which is outside: filters permit {', '.join(flows)}, and whether anything "
                "carries that, the spec does not say"
            )


def _unread(tree: RenderedTree) -> list[str]:
    """Planned Ethernet switches without text in the tree."""
    declaration = tree.declaration
    if declaration is None:
        return []
    switches_read = reader_by_switch(tree, ROUTERS).keys()
    return sorted(declaration.ethernet.keys() - switches_read - declaration.stopped)


def _members(
    declared: DeclaredIsolation, wiring_by_fabric: Mapping[str, Wiring]
) -> Mapping[str, Mapping[_Reach, tuple[str, str]]]:
    """Distinct sets of switches reached by the devices of each zone, with one device and its switch each."""
    reach: dict[str, dict[str, int]] = {}
    place: dict[tuple[str, str], str] = {}
    for name, wiring in wiring_by_fabric.items():
        above = [wiring.above_all(wiring.devices[device].switches) for device in wiring.kinds]
        for device, kind in wiring.kind_of.items():
            reach.setdefault(device, {})[name] = above[kind]
            place[device, name] = wiring.devices[device].switches[0]
    members: dict[str, dict[_Reach, tuple[str, str]]] = {zone.name: {} for zone in declared.zones}
    represented: set[object] = set()
    for device, reach_by_fabric in reach.items():
        zones = declared.zones_of.get(device, ())
        key = (zones, *reach_by_fabric.items())
        if key in represented:
            continue  # the first equal device stands for all
        represented.add(key)
        for zone in declared.zones:
            if zone.name not in zones and not zone.is_ports:
                continue
            zone_reach = tuple(sorted((name, bits) for name, bits in reach_by_fabric.items() if zone.on(name)))
            if zone_reach:
                first_fabric, _ = zone_reach[0]
                members[zone.name].setdefault(zone_reach, (device, place[device, first_fabric]))
    return members


def _parted(
    declared: DeclaredIsolation,
    members: Mapping[str, Mapping[_Reach, tuple[str, str]]],
    flow: DeclaredFlow,
    fabrics: frozenset[str],
) -> tuple[str, str, str] | None:
    """Two hosts of a flow without a common switch on a shared fabric, with the first host's switch."""
    source_zone, target_zone = declared.zone[flow.source], declared.zone[flow.target]
    source_fabrics = {name for name in fabrics if source_zone.on(name)}
    shared_fabrics = {name for name in source_fabrics if target_zone.on(name)}
    sources = _within(members[flow.source], shared_fabrics)
    targets = _within(members[flow.target], shared_fabrics)
    for source_reach, (source, switch) in sources.items():
        for target_reach, (target, _) in targets.items():
            if not _meet(source_reach, target_reach):
                return source, target, switch
    return None


def _meet(source: _Reach, target: _Reach) -> bool:
    """Whether two hosts reach a common switch on some fabric."""
    switches_by_fabric: dict[str, int] = {}
    for fabric, switches in target:
        switches_by_fabric[fabric] = switches_by_fabric.get(fabric, 0) | switches
    return any(switches & switches_by_fabric.get(fabric, 0) for fabric, switches in source)


def _within(members: Mapping[_Reach, tuple[str, str]], fabrics: set[str]) -> Mapping[_Reach, tuple[str, str]]:
    """Entries restricted to ``fabrics``."""
    on_fabrics: dict[_Reach, tuple[str, str]] = {}
    for reach, device in members.items():
        limited = tuple((fabric, switches) for fabric, switches in reach if fabric in fabrics)
        if limited:
            on_fabrics.setdefault(limited, device)
    return on_fabrics


def _border_reach(borders: Iterable[DeclaredBorder], wiring_by_fabric: Mapping[str, Wiring]) -> _Reach:
    """Fabric and bit of each border's switch."""
    reach = []
    for border in borders:
        wiring = wiring_by_fabric.get(border.fabric)
        if wiring is not None and border.switch in wiring.tops:
            reach.append((border.fabric, wiring.tops[border.switch]))
    return tuple(reach)


def _cut_off(
    declared: DeclaredIsolation,
    members: Mapping[str, Mapping[_Reach, tuple[str, str]]],
    wiring_by_fabric: Mapping[str, Wiring],
    flow: DeclaredFlow,
) -> tuple[str, str, str] | None:
    """A host unable to reach any border of a flow's outside zone.

    Returns the two ends in the flow's direction, and the host's switch.
    """
    plain = {fabric.name for fabric in declared.fabrics if fabric.technology == "ethernet"}
    for inside, outside in ((flow.source, flow.target), (flow.target, flow.source)):
        borders_of_zone = [border for border in declared.borders if outside in border.zones]
        borders = [border for border in borders_of_zone if border.fabric in plain]
        if not borders:
            continue
        exits = _border_reach(borders, wiring_by_fabric)
        for reach, (device, switch) in _within(members[inside], plain).items():
            if not _meet(reach, exits):
                ends = (device, outside) if inside == flow.source else (outside, device)
                return *ends, switch
    return None
