"""CW214, CW240 to CW244: does every node of a fabric meet every other one, as planned and with exceptions?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.finding import Severity
from clusterwright.plan.meeting import End, Wiring, wiring_of_cables
from clusterwright.plan.model import Cable, Device, Plan
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import SpecException
from clusterwright.spec.text.document import Path

_SHOWN = 5


@rule(
    code="CW214",
    severity=Severity.ERROR,
    title="fabric in pieces",
    why="Nodes of one piece have no path to those of another: a job over both hangs, and no flow passes between them.",
    mend="Add a tier with `per: cluster` and uplinks to it, describe the pieces as fabrics of their own, or declare"
    " planes.",
    docs="A fabric promises that every port attached to it reaches every other one. Ways climb and then descend,"
    " so that two switches meet where one lies above both. Pieces come about by switches without a tier above them,"
    " and by uplinks that are too few to reach a switch in common: four leaves of two uplinks each under eight spines"
    " are four pieces.\n\n"
    "Planes are pieces that are meant: `join: rail` at every tier gives each rail a network of its own, which meets the"
    " others in the nodes alone (a rail-only network, such as one switch for each rail), and `join: position` at the"
    " uppermost tier keeps the switches apart that have different places in their groups. Then `clusterwright verify`"
    " proves each plane by itself and says so. Every two nodes have to share a plane.",
)
def fabric_in_pieces(subject: Subject) -> Iterator[Problem]:
    """Fabrics in which two devices never meet, and those in pieces that nobody declared to be planes."""
    for skeleton, wiring in subject.wirings:
        fabric, count = skeleton.fabric, len(wiring.pieces)
        if wiring.parted is None and (count < 2 or fabric.planes):
            continue
        top = fabric.tiers[-1]
        pair = wiring.parted or wiring.apart()
        path, how = _cause(skeleton, wiring)
        hint = f"Add a tier with `per: cluster` above {top.role}"
        if path[-1] == "links":
            hint = "Give them more uplinks, or put fewer switches above them"
        if wiring.parted is None and fabric.technology != "infiniband" and not fabric.attach[0].is_management:
            hint += ", or write `join: rail` at each tier where every rail is meant to be a network of its own"
        yield Problem(path, f"{how}: {pair[0]} has no path to {pair[1]}.", f"{hint}.")


def _cause(skeleton: FabricSkeleton, wiring: Wiring) -> tuple[Path, str]:
    """Where the spec causes the pieces, and how it does in words."""
    fabric = skeleton.fabric
    top, depth = fabric.tiers[-1], len(fabric.tiers) - 1
    places = {seat.group for seat in skeleton.seats if seat.tier == depth}
    if len(places) > 1:
        return (
            (*top.path, "per"),
            (
                f"{fabric.name} ends in {len(places)} groups of {top.role}, one in each {top.per}, "
                "with nothing between them"
            ),
        )
    for bundle in skeleton.bundles:
        lower = fabric.tiers[skeleton.seats[bundle.lowers[0]].tier]
        reached = {len(wiring.above[skeleton.seats[number].name]) for number in bundle.lowers}
        if lower.up is not None and min(reached) < len(bundle.uppers):
            upper = fabric.tiers[bundle.tier]
            return (
                (*lower.up.path, "links"),
                (
                    f"{lower.up.links} uplinks of each {lower.role} reach {min(reached)} of {len(bundle.uppers)} "
                    f"{upper.role} switches, others than those of its neighbours"
                ),
            )
    if fabric.planes:
        return (*top.path, "join"), f"The planes of {fabric.name} have not all of its devices in common"
    count = sum(seat.tier == depth for seat in skeleton.seats)
    return (
        (*top.path, "count"),
        f"{fabric.name} ends in {count} {top.role} switches, with nothing between them",
    )


@rule(
    code="CW243",
    severity=Severity.WARNING,
    title="devices that are attached side by side on top",
    why="Ways never climb after they descended, so that devices at two uppermost switches do not reach each other.",
    mend="Attach them to one switch, to a lower tier, or add a tier above.",
    docs="A device is attached to the lowest tier around it, or to the one that `to` names: two subnet managers at two"
    " spines are a case. All of them reach everything that is attached further down. Management ports are not meant,"
    " which never speak with each other; `verify` notes them.",
)
def side_by_side(subject: Subject) -> Iterator[Problem]:
    """Fabrics with devices at several uppermost switches."""
    for skeleton, wiring in subject.wirings:
        if wiring.beside is not None and not skeleton.fabric.attach[0].is_management:
            one, other = wiring.beside
            top = skeleton.fabric.tiers[-1]
            yield Problem(
                (*top.path, "role"),
                f"{one} does not reach {other}: a way would go down from {top.role} and climb again.",
                f"Use one {top.role}, attach them to a lower tier, or add a tier above {top.role}.",
            )


@rule(
    code="CW240",
    severity=Severity.ERROR,
    title="exception that cuts a fabric",
    why="What the spec takes out of service was the last way between devices that stay in service.",
    mend="Leave a way in service, or take the devices behind it out of service too.",
    docs="Judged with all exceptions together, in the order in which they stand: the finding is at the first one that"
    " leaves two devices without a way, each of which still has a cable in service. In a fabric in planes each plane"
    " is judged by itself: nodes send to an address of a plane by that plane alone.",
)
def cut_by_exceptions(subject: Subject) -> Iterator[Problem]:
    """Exceptions after which two active devices of a fabric never meet, or two NICs of one plane."""
    plan = _plan_with_exceptions(subject)
    if plan is None:
        return
    for skeleton, wiring in subject.wirings:
        fabric = skeleton.fabric
        if wiring.parted is not None or (len(wiring.pieces) > 1 and not fabric.planes):
            continue  # in pieces by itself (CW214)
        planes: dict[int, list[Cable]] = {}
        for cable in plan.cables:
            if cable.fabric == fabric.name:
                planes.setdefault(wiring.piece_of[cable.b.device], []).append(cable)
        for cables in planes.values():
            pair = wiring_of_cables(_working(cables)).parted
            if pair is None:
                continue
            item, pair = _first_cut(plan, cables) or (subject.spec.exceptions[-1], pair)
            yield Problem(
                (*item.path, "state"),
                f"With {_what(item)} {item.state}, nothing in {fabric.name} leads from {pair[0]} to {pair[1]}.",
                "Leave a way between them in service, or take the devices behind it out of service too.",
            )
            break


def _first_cut(plan: Plan, cables: Sequence[Cable]) -> tuple[SpecException, tuple[End, End]] | None:
    """The first exception that, with those before it, leaves two devices without a way."""
    stopped: set[int] = set()
    for item in plan.spec.exceptions:
        if item.state is None:
            continue
        stopped |= {at for at, cable in enumerate(cables) if not cable.in_service and _concerns(plan, item, cable)}
        pair = wiring_of_cables(cable for at, cable in enumerate(cables) if at not in stopped).parted
        if pair is not None:
            return item, pair
    return None


def _concerns(plan: Plan, item: SpecException, cable: Cable) -> bool:
    for end in (cable.a, cable.b):
        if item.port is not None:
            if (item.device, item.port) == (end.device, end.port):
                return True
        elif item.device == end.device or (item.group is not None and item.group in plan.by_name[end.device].groups):
            return True
    return False


def _working(cables: Sequence[Cable]) -> Iterator[Cable]:
    return (cable for cable in cables if cable.in_service)


@rule(
    code="CW241",
    severity=Severity.WARNING,
    title="nodes behind a switch that is out of service",
    why="The nodes are active, so that jobs start on them, and have no way into a fabric.",
    mend="Drain the nodes too, for as long as the switch is.",
    docs="Told where a switch or its port is taken out of service that a node has its only cables of a fabric at."
    " A node whose own port is out of service is meant to be without it.",
)
def behind_an_exception(subject: Subject) -> Iterator[Problem]:
    """Active nodes all of whose cables into a fabric end in vain at switches that are not in service."""
    plan = _plan_with_exceptions(subject)
    if plan is None:
        return
    for item in subject.spec.exceptions:
        if item.state is None:
            continue
        for fabric in subject.spec.fabrics:
            lost = [device.name for device in _lost(plan, fabric.name, item)]
            if lost:
                names = ", ".join(lost[:_SHOWN]) + (", ..." if len(lost) > _SHOWN else "")
                yield Problem(
                    (*item.path, "state"),
                    f"{len(lost)} active {'node has' if len(lost) == 1 else 'nodes have'} no way into {fabric.name} "
                    f"while {_what(item)} is {item.state}: {names}.",
                    f"Drain {'it' if len(lost) == 1 else 'them'} too.",
                )


def _what(item: SpecException) -> str:
    """What an exception concerns, as people call it."""
    return f"{item.device or item.group}" + (f" {item.port}" if item.port else "")


def _lost(plan: Plan, fabric: str, item: SpecException) -> Iterator[Device]:
    for device in plan.devices:
        if device.kind != "node" or device.state != "active":
            continue
        own = [cable for cable in plan.cables_of[device.name] if cable.fabric == fabric]
        if own and not any(cable.in_service for cable in own):
            at_switch = [cable for cable in own if _concerns(plan, item, cable) and not _own_port(item, device)]
            if at_switch and len(at_switch) == len(own):
                yield device


def _own_port(item: SpecException, device: Device) -> bool:
    return item.device == device.name


@rule(
    code="CW244",
    severity=Severity.ERROR,
    title="planes without a subnet manager",
    why="Each plane of an InfiniBand fabric is a subnet of its own, and one without a manager never comes up.",
    mend="Join the planes in a tier above them.",
    docs="A subnet manager configures the subnet that its port is on, and no other. The spec names one manager and its"
    " standbys for a fabric, each at one port: an InfiniBand fabric is one subnet here, and rail-only is for Ethernet.",
)
def planes_without_manager(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics whose planes no tier joins."""
    for skeleton, wiring in subject.wirings:
        fabric, count = skeleton.fabric, len(wiring.pieces)
        if fabric.technology == "infiniband" and fabric.planes and count > 1 and wiring.parted is None:
            yield Problem(
                (*fabric.tiers[-1].path, "join"),
                f"The {count} planes of {fabric.name} are {count} subnets, and one of them has a subnet manager.",
                "Add a tier with `per: cluster` and `join: all` above them.",
            )


@rule(
    code="CW242",
    severity=Severity.ERROR,
    title="NIC in different planes",
    why="Software pairs NICs by their names: two of one name in different planes never meet.",
    mend="Make the NICs of a node a multiple of the switches of a group, or use `join: rail`.",
    docs="In a fabric in planes, a NIC of a name has to be in the same plane on every node of its group. `join: rail`"
    " sees to that; where switches of one group share NICs in turn, their number has to divide that of the NICs.",
)
def nic_in_different_planes(subject: Subject) -> Iterator[Problem]:
    """Fabrics in planes where a NIC's plane differs from node to node."""
    group_of = {node.name: node.node_group for node in subject.skeleton.layout.nodes}
    for skeleton, wiring in subject.wirings:
        fabric = skeleton.fabric
        if not fabric.planes or len(wiring.pieces) < 2 or wiring.parted is not None:
            continue
        first: dict[tuple[int, str], End] = {}
        for end in wiring.ends:
            if end.device not in group_of:
                continue
            other = first.setdefault((group_of[end.device], end.port), end)
            if wiring.piece_of[other.switch] != wiring.piece_of[end.switch]:
                yield Problem(
                    fabric.path,
                    f"{other} and {end} are in different planes of {fabric.name}.",
                    "Make the NICs of a node a multiple of the switches of a group, or use `join: rail`.",
                )
                break


def _plan_with_exceptions(subject: Subject) -> Plan | None:
    """The plan of a spec that takes something out of service; None where it does not."""
    return subject.plan if any(item.state for item in subject.spec.exceptions) else None
