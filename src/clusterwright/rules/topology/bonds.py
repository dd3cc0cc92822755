"""CW225 to CW228: LACP bonds go to one switch, of a kind that can be rendered and read back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_tier
from clusterwright.spec.fabric import Attach, Bond, Fabric
from clusterwright.spec.hardware.systems import System, system_of


@rule("CW225", Severity.ERROR)
def bond_over_switches(subject: Subject) -> Iterator[Problem]:
    """Bonds over several switches, and bonds of a single NIC; one finding for each attachment."""
    for skeleton in subject.skeleton.fabrics:
        bonded = _bonded_nodes(subject, skeleton)
        for attach in skeleton.fabric.attach:
            for node, seats in bonded.get(attach.nodes or "", {}).items():
                if len(seats) == 1 or len(set(seats)) > 1:
                    name = subject.skeleton.layout.nodes[node].name
                    yield _wrong_bond(skeleton, attach, name, seats)
                    break


def _bonded_nodes(subject: Subject, skeleton: FabricSkeleton) -> Mapping[str, Mapping[int, tuple[int, ...]]]:
    """By node group, the nodes with a bond, and the switch at each of their NICs."""
    groups, nodes = subject.spec.node_groups, subject.skeleton.layout.nodes
    seats: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for item in skeleton.nodes:
        if item.bond is not None:
            name = groups[nodes[item.node].node_group].name
            seats[name][item.node] = item.seats
    return seats


def _wrong_bond(skeleton: FabricSkeleton, attach: Attach, node: str, seats: tuple[int, ...]) -> Problem:
    switches = ", ".join(skeleton.seats[seat].name for seat in dict.fromkeys(seats))
    path = (*attach.path, "bond")
    if len(seats) == 1:
        message = f"The only NIC of {node} in a bond: at {switches}."
        return Problem(path, message, "Give it another NIC on that switch, or leave `bond` out.")
    tier = skeleton.fabric.tiers[skeleton.seats[seats[0]].tier]
    key = "count: 1" if tier.join == "all" else "join: all"
    hint = f"Give the tier `{key}`, or leave `bond` out: each NIC then has an address of its own."
    return Problem(path, f"NICs of {node} in a bond: at {switches}.", hint)


@rule("CW226", Severity.ERROR)
def bond_nowhere(subject: Subject) -> Iterator[Problem]:
    """Bonds on fabrics and switches without support for them."""
    for fabric, attach, _ in _bonds(subject):
        reason = _why_not(fabric, _system(subject, fabric, attach))
        if reason:
            message = f"{attach.nodes} on {fabric.name} in a bond: {reason}."
            yield Problem((*attach.path, "bond"), message, "Leave `bond` out: each NIC then has an address of its own.")


def _why_not(fabric: Fabric, system: System | None) -> str:
    if fabric.technology == "infiniband":
        return "the fabric is infiniband, and LACP is Ethernet's"
    if fabric.technology == "roce":
        return "the fabric is roce, whose queue pairs stay on one port of a bond each, and nothing is rendered for that"
    if fabric.addressing is None or fabric.addressing.host_links != "shared":
        return "its hosts share no subnet (`host_links: shared`)"
    if any(traffic_class.priority is not None for traffic_class in fabric.classes):
        return "it has a lossless class, which is not rendered for bonds"
    if system is None or not system.has_bonds:
        return "its switches do not support bonds"
    return ""


@rule("CW227", Severity.ERROR)
def bond_name_taken(subject: Subject) -> Iterator[Problem]:
    """Bonds with the name of another bond of the same nodes, or of a NIC of their model."""
    fabric_by_bond: dict[tuple[str, str], str] = {}
    for fabric, attach, bond in _bonds(subject):
        group = subject.spec.node_group(attach.nodes or "")
        first = fabric_by_bond.setdefault((attach.nodes or "", bond.interface), fabric.name)
        if group is not None and bond.interface in {nic.interface for nic in group.model.nics}:
            owner = f"a NIC of {group.model.name}"
        elif first != fabric.name:
            owner = f"their bond on {first}"
        else:
            continue
        message = f"{attach.nodes} have a bond {bond.interface} on {fabric.name}, and that is {owner}."
        yield Problem((*bond.path, "interface"), message, "Give it another name.")


@rule("CW228", Severity.ERROR)
def boot_over_bond(subject: Subject) -> Iterator[Problem]:
    """Bonds on the boot fabric at switches without LACP fallback."""
    boot = subject.spec.boot
    for fabric, attach, _ in _bonds(subject):
        system = _system(subject, fabric, attach)
        group = subject.spec.node_group(attach.nodes or "")
        if boot is None or boot.fabric != fabric.name or group is None or group.image is None:
            continue
        if system is not None and system.has_bonds and not system.bonds_fall_back:
            message = f"{attach.nodes} boot over {fabric.name} in a bond, and {system.title} waits there for LACP."
            hint = "Boot over another fabric, use other switches, or leave `bond` out."
            yield Problem((*attach.path, "bond"), message, hint)


def _system(subject: Subject, fabric: Fabric, attach: Attach) -> System | None:
    """The operating system of the switches cabled to the NICs; None for unknown ones."""
    group = subject.spec.node_group(attach.nodes or "")
    tier = attached_tier(fabric, attach, group) if group is not None else None
    return system_of(tier.model) if tier is not None else None


def _bonds(subject: Subject) -> Iterator[tuple[Fabric, Attach, Bond]]:
    for fabric in subject.spec.fabrics:
        for attach in fabric.attach:
            if attach.bond is not None:
                yield fabric, attach, attach.bond
