"""CW247, CW249: flows without a path, and flows to outside networks over several fabrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.intent.zone_networks import meeting_fabrics
from clusterwright.plan.meeting import AttachedEnd, Wiring, wiring_of_cables
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.isolation import Zone
from clusterwright.spec.zone_reach import lives_on, members_of

_Reach = tuple[tuple[str, int], ...]  # fabrics, and the bits of the top switches above the device there
_Members = Mapping[_Reach, AttachedEnd]  # the different reaches of a zone's devices, each with one of them


class _Kind(NamedTuple):
    """The first of the devices of a node group attached to the same switches, with its reach by fabric."""

    device: str
    group: str
    above: Mapping[str, int]


@rule("CW247", Severity.ERROR)
def uncarried(subject: Subject) -> Iterator[Problem]:
    """Flows between two devices attached to a common fabric without a path over any."""
    spec = subject.spec
    wirings = _wirings(subject)
    kinds = _kinds(subject, wirings)
    members = {zone.name: _members(subject, wirings, kinds, zone) for zone in spec.zones}
    for flow in spec.flows:
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        if source is None or target is None:
            continue
        usable = {fabric.name for fabric in spec.fabrics if not flow.is_rdma or fabric.technology == "roce"}
        common = usable & _fabrics(subject, source) & _fabrics(subject, target)
        pair = _parted(_within(members[source.name], common), _within(members[target.name], common))
        ends = pair or _shut_in_pair(subject, wirings, members, (source, target))
        if ends is not None:
            yield Problem(
                (*flow.path, "to"),
                f"Flow {flow.name} is permitted, but there is no path from {ends[0]} to {ends[1]}.",
                "Attach both to one switch or to a lower tier, add a tier above them, or remove the flow.",
            )


def _shut_in_pair(
    subject: Subject, wirings: Mapping[str, Wiring], members: Mapping[str, _Members], zones: tuple[Zone, Zone]
) -> tuple[AttachedEnd, str] | None:
    """A device of one zone without a path to the borders of the other, and the other's name."""
    source, target = zones
    for zone, other in ((source, target), (target, source)):
        host = _shut_in(subject, wirings, members[zone.name], other)
        if host is not None:
            return host, other.name
    return None


@rule("CW249", Severity.WARNING)
def carried_at_random(subject: Subject) -> Iterator[Problem]:
    """Outside zones reached by a node group over several fabrics, one without a border to them."""
    spec, wirings = subject.spec, dict(_designed_wirings(subject))
    reported: set[str] = set()
    for flow in spec.flows:
        for zone_name, outside_name in ((flow.source, flow.target), (flow.target, flow.source)):
            zone, outside = spec.zone(zone_name), spec.zone(outside_name)
            if zone is None or outside is None or not outside.prefixes or outside.name in reported:
                continue
            problem = _random_exit(subject, wirings, zone, outside)
            if problem is not None:
                reported.add(outside.name)
                yield problem


def _random_exit(subject: Subject, wirings: Mapping[str, Wiring], zone: Zone, outside: Zone) -> Problem | None:
    spec = subject.spec
    fabrics = [fabric for fabric in lives_on(spec, zone) if "" in meeting_fabrics(spec, zone, outside, fabric)]
    with_border: set[str] = set()
    if len(fabrics) > 1:
        with_border = {name for name, _ in _borders_to(wirings, subject, outside)}
    for group in members_of(spec, zone):
        exits = [fabric.name for fabric in fabrics if any(attach.nodes == group for attach in fabric.attach)]
        if len(exits) < 2 or with_border.issuperset(exits):
            continue
        without_border = [name for name in exits if name not in with_border]
        return Problem(
            (*outside.path, "prefixes"),
            f"{group} sends to {outside.name} over {' and '.join(exits)} alike, and no border says that "
            f"{' and '.join(without_border)} reach it.",
            f"Leave what does not lead there out of the `fabrics` of {zone.name} (another zone may "
            f"cover it), or name the borders at which {outside.name} is reached.",
        )
    return None


def _fabrics(subject: Subject, zone: Zone) -> set[str]:
    return {fabric.name for fabric in lives_on(subject.spec, zone)}


def _within(members: _Members, fabrics: set[str]) -> _Members:
    """The paths over some of the fabrics."""
    limited_members: dict[_Reach, AttachedEnd] = {}
    for reach, end in members.items():
        limited_reach = tuple((fabric, bits) for fabric, bits in reach if fabric in fabrics)
        if limited_reach:
            limited_members.setdefault(limited_reach, end)
    return limited_members


def _meet(reach: _Reach, other_reach: Iterable[tuple[str, int]]) -> bool:
    bits_by_fabric = dict(reach)
    return any(bits_by_fabric.get(fabric, 0) & bits for fabric, bits in other_reach)


def _parted(members: _Members, other_members: _Members) -> tuple[AttachedEnd, AttachedEnd] | None:
    """Two devices without a path over any fabric."""
    for reach, end in members.items():
        for other_reach, other_end in other_members.items():
            if not _meet(reach, other_reach):
                return end, other_end
    return None


def _shut_in(subject: Subject, wirings: Mapping[str, Wiring], members: _Members, outside: Zone) -> AttachedEnd | None:
    """A device without a path to the borders of a zone; None for a zone without borders."""
    ethernet = {fabric.name for fabric in subject.spec.fabrics if fabric.technology == "ethernet"}
    borders = [border for border in _borders_to(wirings, subject, outside) if border[0] in ethernet]
    if not borders:
        return None
    for reach, end in _within(members, ethernet).items():
        if not _meet(reach, borders):
            return end
    return None


def _borders_to(wirings: Mapping[str, Wiring], subject: Subject, zone: Zone) -> list[tuple[str, int]]:
    """The borders of a zone: their fabrics, and the bits of their switches there."""
    borders: list[tuple[str, int]] = []
    for border in subject.spec.borders:
        if zone.name not in border.zones:
            continue
        for name, wiring in wirings.items():
            if border.device in wiring.tops:
                borders.append((name, wiring.tops[border.device]))
    return borders


def _wirings(subject: Subject) -> Mapping[str, Wiring]:
    """The links in service of each fabric with addresses; without fabrics in pieces (CW214, CW240)."""
    wirings = dict(_designed_wirings(subject))
    if any(item.state for item in subject.spec.exceptions):
        cables = [cable for cable in subject.plan.cables if cable.in_service]
        for name in wirings:
            wirings[name] = wiring_of_cables(cable for cable in cables if cable.fabric == name)
    return {name: wiring for name, wiring in wirings.items() if wiring.parted is None}


def _designed_wirings(subject: Subject) -> Iterator[tuple[str, Wiring]]:
    """The designed links of the fabrics with addresses, by name."""
    return ((skeleton.fabric.name, wiring) for skeleton, wiring in subject.wirings if skeleton.fabric.addressing)


def _kinds(subject: Subject, wirings: Mapping[str, Wiring]) -> list[_Kind]:
    """The kinds of devices, in the order of the fabrics."""
    groups = subject.spec.node_groups
    group_of = {node.name: groups[node.node_group].name for node in subject.skeleton.layout.nodes}
    devices: dict[str, None] = {}
    for wiring in wirings.values():
        devices.update(dict.fromkeys(wiring.kind_of))
    first: dict[object, str] = {}
    for device in devices:
        switches = [wiring.kind_of.get(device) for wiring in wirings.values()]
        first.setdefault((group_of.get(device, ""), *switches), device)
    kinds: list[_Kind] = []
    for device in first.values():
        above: dict[str, int] = {}
        for name, wiring in wirings.items():
            if device in wiring.devices:
                above[name] = wiring.above_all(wiring.devices[device].switches)
        kinds.append(_Kind(device=device, group=group_of.get(device, ""), above=above))
    return kinds


def _members(subject: Subject, wirings: Mapping[str, Wiring], kinds: Iterable[_Kind], zone: Zone) -> _Members:
    """The different reaches of a zone's devices, each with one of its devices."""
    groups = set(members_of(subject.spec, zone))
    fabrics = [fabric.name for fabric in lives_on(subject.spec, zone)]
    members: dict[_Reach, AttachedEnd] = {}
    for kind in kinds:
        present = [name for name in fabrics if name in kind.above]
        is_member = not groups or kind.group in groups
        if not is_member or not present:
            continue
        reach = tuple(sorted((name, kind.above[name]) for name in present))
        if reach not in members:
            members[reach] = next(wirings[present[0]].ends_of(kind.device))
    return members
