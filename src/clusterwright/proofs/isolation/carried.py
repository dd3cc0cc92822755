"""Flows that nothing carries: they are permitted, and the network has no path between the two ends.

Filters say what may pass, cables what can. Two hosts meet on a fabric as in ``reachability``; an address outside is met
at the switch of a border that names its zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.and_more import and_more
from clusterwright.plan.meeting import Wiring
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.ethernet.network import has_network
from clusterwright.proofs.ethernet.pieces import wirings
from clusterwright.proofs.isolation.declared import OUTSIDE, DeclaredFlow, DeclaredIsolation
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import ROUTERS

_Reach = tuple[tuple[str, int], ...]  # fabric and bits of the switches over which a device meets others there


def carried_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Every flow that is permitted between two hosts which no path joins, with such a pair."""
    if not has_network(tree) or _unread(tree):
        return
    known = wirings(tree)
    members = _members(declared, known)
    for flow in declared.flows:
        fabrics = [fabric.name for fabric in declared.fabrics if not flow.is_rdma or fabric.technology == "roce"]
        pair = _parted(declared, members, flow, frozenset(fabrics)) or _cut_off(declared, members, known, flow)
        if pair is not None:
            one, other, switch = pair
            file = next((router.file for router in ROUTERS if (switch, router.file) in tree.files), "")
            message = f"flow {flow.name} is permitted and cannot be carried: no path leads from {one} to {other}"
            yield Counterexample(device=switch, file=file, line=0, message=message)


def uncarried_notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """Zones outside that flows name and no border leads to: the way there is not in the spec, and nothing proves it."""
    if unread := _unread(tree):
        yield f"whether anything carries the flows was not judged: there is no text of {and_more(unread, 3)}"
    bordered = {name for border in declared.borders for name in border.zones}
    outside = {zone.name for zone in declared.zones if any(part.fabric == OUTSIDE for part in zone.parts)} - bordered
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
    """Planned Ethernet switches without which the tree's network is not whole."""
    declaration = tree.declaration
    if declaration is None:
        return []
    there = {device for reader in ROUTERS for device in tree.devices_with(reader.file)}
    return sorted(declaration.ethernet.keys() - there - declaration.stopped)


def _members(
    declared: DeclaredIsolation, known: Mapping[str, Wiring]
) -> Mapping[str, Mapping[_Reach, tuple[str, str]]]:
    """For each zone, the different ways in which its devices reach others: each with one device and its switch."""
    reach: dict[str, dict[str, int]] = {}
    place: dict[tuple[str, str], str] = {}
    for name, wiring in known.items():
        above = [wiring.above_all(wiring.devices[device].switches) for device in wiring.kinds]
        for device, kind in wiring.kind_of.items():
            reach.setdefault(device, {})[name] = above[kind]
            place[device, name] = wiring.devices[device].switches[0]
    found: dict[str, dict[_Reach, tuple[str, str]]] = {zone.name: {} for zone in declared.zones}
    alike: set[object] = set()
    for device, own in reach.items():
        zones = declared.zones_of.get(device, ())
        if (what := (zones, *own.items())) in alike:
            continue  # the first like it stands for it
        alike.add(what)
        for zone in declared.zones:
            is_member = zone.name in zones or zone.is_ports
            there = tuple(sorted((name, bits) for name, bits in own.items() if zone.on(name))) if is_member else ()
            if there:
                found[zone.name].setdefault(there, (device, place[device, there[0][0]]))
    return found


def _parted(
    declared: DeclaredIsolation,
    members: Mapping[str, Mapping[_Reach, tuple[str, str]]],
    flow: DeclaredFlow,
    fabrics: frozenset[str],
) -> tuple[str, str, str] | None:
    """Two hosts of a flow that share a fabric and meet on none, and the first one's switch."""
    both = {name for name in fabrics if declared.zone[flow.source].on(name) and declared.zone[flow.target].on(name)}
    ends = [_within(members[zone], both) for zone in (flow.source, flow.target)]
    for reach, (device, switch) in ends[0].items():
        for other, (far, _) in ends[1].items():
            if not any(name == there and bits & theirs for name, bits in reach for there, theirs in other):
                return device, far, switch
    return None


def _within(own: Mapping[_Reach, tuple[str, str]], fabrics: set[str]) -> Mapping[_Reach, tuple[str, str]]:
    """The ways that lead over some fabrics."""
    found: dict[_Reach, tuple[str, str]] = {}
    for reach, device in own.items():
        limited = tuple(each for each in reach if each[0] in fabrics)
        if limited:
            found.setdefault(limited, device)
    return found


def _cut_off(
    declared: DeclaredIsolation,
    members: Mapping[str, Mapping[_Reach, tuple[str, str]]],
    known: Mapping[str, Wiring],
    flow: DeclaredFlow,
) -> tuple[str, str, str] | None:
    """A host of a flow from or to a zone behind borders that reaches none of those, the zone, and its switch."""
    plain = {fabric.name for fabric in declared.fabrics if fabric.technology == "ethernet"}
    for inside, outside in ((flow.source, flow.target), (flow.target, flow.source)):
        borders = [border for border in declared.borders if outside in border.zones and border.fabric in plain]
        doors = [
            (border.fabric, known[border.fabric].tops[border.switch])
            for border in borders
            if border.fabric in known and border.switch in known[border.fabric].tops
        ]
        if borders:
            for reach, (device, switch) in _within(members[inside], plain).items():
                if not any(name == there and bits & theirs for name, bits in reach for there, theirs in doors):
                    ends = (device, outside) if inside == flow.source else (outside, device)
                    return *ends, switch
    return None
