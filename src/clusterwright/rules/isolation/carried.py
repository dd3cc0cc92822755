"""CW247, CW249: flows without a path, and flows to outside networks over several fabrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.intent.zone_networks import meeting_fabrics
from clusterwright.plan.meeting import AttachedEnd, Wiring, wiring_of_cables
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.isolation import Zone
from clusterwright.spec.zone_reach import lives_on, members_of

_Reach = tuple[tuple[str, int], ...]  # fabrics, and the bits of the top switches above the device there


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
        both = usable & _fabrics(subject, source) & _fabrics(subject, target)
        pair = _parted(_within(members[source.name], both), _within(members[target.name], both)) or next(
            (
                (host, other.name)
                for zone, other in ((source, target), (target, source))
                if (host := _shut_in(subject, wirings, members[zone.name], other)) is not None
            ),
            None,
        )
        if pair is not None:
            yield Problem(
                (*flow.path, "to"),
                f"Flow {flow.name} is permitted and cannot be carried: no way leads from {pair[0]} to {pair[1]}.",
                "Attach both to one switch or to a lower tier, add a tier above them, or remove the flow.",
            )


@rule("CW249", Severity.WARNING)
def carried_at_random(subject: Subject) -> Iterator[Problem]:
    """Outside zones reached by a node group over several fabrics, one without a border to them."""
    spec, wirings, reported = subject.spec, dict(_known(subject)), set[str]()
    for flow in spec.flows:
        for mine, other in ((flow.source, flow.target), (flow.target, flow.source)):
            zone, outside = spec.zone(mine), spec.zone(other)
            if zone is None or outside is None or not outside.prefixes or outside.name in reported:
                continue
            plain = [fabric for fabric in lives_on(spec, zone) if "" in meeting_fabrics(spec, zone, outside, fabric)]
            doors = {name for name, _ in _doors(wirings, subject, outside)} if len(plain) > 1 else set()
            for group in members_of(spec, zone):
                over = [fabric.name for fabric in plain if any(attach.nodes == group for attach in fabric.attach)]
                if len(over) > 1 and not doors.issuperset(over):
                    reported.add(outside.name)
                    unsaid = " and ".join(name for name in over if name not in doors)
                    yield Problem(
                        (*outside.path, "prefixes"),
                        f"{group} sends to {outside.name} over {' and '.join(over)} alike, and no border says that "
                        f"{unsaid} reach it.",
                        f"Leave what does not lead there out of the `fabrics` of {zone.name} (another zone may "
                        f"cover it), or name the borders at which {outside.name} is reached.",
                    )
                    break


def _fabrics(subject: Subject, zone: Zone) -> set[str]:
    return {fabric.name for fabric in lives_on(subject.spec, zone)}


def _within(members: Mapping[_Reach, AttachedEnd], fabrics: set[str]) -> Mapping[_Reach, AttachedEnd]:
    """The paths over some of the fabrics."""
    limited_members: dict[_Reach, AttachedEnd] = {}
    for reach, end in members.items():
        if limited := tuple(place for place in reach if place[0] in fabrics):
            limited_members.setdefault(limited, end)
    return limited_members


def _meet(one: _Reach, other: Iterable[tuple[str, int]]) -> bool:
    switch_bits = dict(one)
    return any(switch_bits.get(fabric, 0) & bits for fabric, bits in other)


def _parted(
    here: Mapping[_Reach, AttachedEnd], there: Mapping[_Reach, AttachedEnd]
) -> tuple[AttachedEnd, AttachedEnd] | None:
    """Two devices without a path over any fabric."""
    for reach, end in here.items():
        for other, far in there.items():
            if not _meet(reach, other):
                return end, far
    return None


def _shut_in(
    subject: Subject, wirings: Mapping[str, Wiring], members: Mapping[_Reach, AttachedEnd], other: Zone
) -> AttachedEnd | None:
    """A device without a path to the borders of a zone; None for a zone without borders."""
    plain = {fabric.name for fabric in subject.spec.fabrics if fabric.technology == "ethernet"}
    doors = [door for door in _doors(wirings, subject, other) if door[0] in plain]
    if not doors:
        return None
    return next((end for reach, end in _within(members, plain).items() if not _meet(reach, doors)), None)


def _doors(wirings: Mapping[str, Wiring], subject: Subject, zone: Zone) -> list[tuple[str, int]]:
    """The borders of a zone: their fabrics, and the bits of their switches there."""
    doors: list[tuple[str, int]] = []
    for border in subject.spec.borders:
        if zone.name not in border.zones:
            continue
        for name, wiring in wirings.items():
            if border.device in wiring.tops:
                doors.append((name, wiring.tops[border.device]))
    return doors


def _wirings(subject: Subject) -> Mapping[str, Wiring]:
    """The links in service of each fabric with addresses; without fabrics in pieces (CW214, CW240)."""
    cables_by_fabric = dict(_known(subject))
    if any(item.state for item in subject.spec.exceptions):
        cables = [cable for cable in subject.plan.cables if cable.in_service]
        cables_by_fabric = {
            name: wiring_of_cables(cable for cable in cables if cable.fabric == name) for name in cables_by_fabric
        }
    return {name: wiring for name, wiring in cables_by_fabric.items() if wiring.parted is None}


def _known(subject: Subject) -> Iterator[tuple[str, Wiring]]:
    """The designed links of the fabrics with addresses, by name."""
    return ((skeleton.fabric.name, wiring) for skeleton, wiring in subject.wirings if skeleton.fabric.addressing)


def _kinds(subject: Subject, wirings: Mapping[str, Wiring]) -> list[tuple[str, str, Mapping[str, int]]]:
    """The first device of each node group attached to the same switches: its name, its group, and by fabric the bits of
    the switches above it.
    """
    group_of = {node.name: subject.spec.node_groups[node.node_group].name for node in subject.skeleton.layout.nodes}
    kinds = [wiring.kind_of for wiring in wirings.values()]
    first: dict[object, str] = {}
    for device in dict.fromkeys(chain.from_iterable(kinds)):
        first.setdefault((group_of.get(device, ""), *[kind.get(device) for kind in kinds]), device)
    return [
        (
            device,
            group_of.get(device, ""),
            {
                name: wiring.above_all(wiring.devices[device].switches)
                for name, wiring in wirings.items()
                if device in wiring.devices
            },
        )
        for device in first.values()
    ]


def _members(
    subject: Subject,
    wirings: Mapping[str, Wiring],
    kinds: Iterable[tuple[str, str, Mapping[str, int]]],
    zone: Zone,
) -> Mapping[_Reach, AttachedEnd]:
    """The different reaches of a zone's devices, each with one of its devices."""
    groups = set(members_of(subject.spec, zone))
    fabrics = [fabric.name for fabric in lives_on(subject.spec, zone)]
    members: dict[_Reach, AttachedEnd] = {}
    for device, group, above in kinds:
        present = [name for name in fabrics if name in above] if not groups or group in groups else []
        if present and (reach := tuple(sorted((name, above[name]) for name in present))) not in members:
            members[reach] = next(wirings[present[0]].ends_of(device))
    return members
