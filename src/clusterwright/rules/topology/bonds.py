"""CW225 to CW228: LACP bonds go to one switch, of a kind that can be rendered and read back."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_tier
from clusterwright.spec.fabric import Attach, Bond, Fabric
from clusterwright.spec.hardware.systems import System, system_of
from clusterwright.spec.model import NodeGroup


@rule("CW225", Severity.ERROR)
def bond_over_switches(subject: Subject) -> Iterator[Problem]:
    """Bonds over several switches, and bonds of a single NIC; one finding for each attachment."""
    groups = subject.spec.node_groups
    for skeleton in subject.skeleton.fabrics:
        seats: dict[str, dict[int, tuple[int, ...]]] = {}
        for item in skeleton.nodes:
            if item.bond is not None:
                name = groups[subject.skeleton.layout.nodes[item.node].node_group].name
                seats.setdefault(name, {})[item.node] = item.seats
        for attach in skeleton.fabric.attach:
            for node, ends in seats.get(attach.nodes or "", {}).items():
                if len(set(ends)) > 1 or len(ends) == 1:
                    where = ", ".join(skeleton.seats[seat].name for seat in dict.fromkeys(ends))
                    which = "The only NIC" if len(ends) == 1 else "NICs"
                    message = f"{which} of {subject.skeleton.layout.nodes[node].name} in a bond: at {where}."
                    hint = "Give it another NIC on that switch, or leave `bond` out."
                    if len(ends) > 1:
                        tier = skeleton.fabric.tiers[skeleton.seats[ends[0]].tier]
                        key = "count: 1" if tier.join == "all" else "join: all"
                        hint = f"Give the tier `{key}`, or leave `bond` out: each NIC then has an address of its own."
                    yield Problem((*attach.path, "bond"), message, hint)
                    break


@rule("CW226", Severity.ERROR)
def bond_nowhere(subject: Subject) -> Iterator[Problem]:
    """Bonds on fabrics and switches without support for them."""
    for fabric, attach, _ in _bonds(subject):
        why = _why_not(fabric, _system(subject, fabric, attach))
        if why:
            message = f"{attach.nodes} on {fabric.name} in a bond: {why}."
            yield Problem((*attach.path, "bond"), message, "Leave `bond` out: each NIC then has an address of its own.")


def _why_not(fabric: Fabric, system: System | None) -> str:
    if fabric.technology == "infiniband":
        return "the fabric is infiniband, and LACP is Ethernet's"
    if fabric.technology == "roce":
        return "the fabric is roce, whose queue pairs stay on one port of a bond each, and nothing is rendered for that"
    if fabric.addressing is None or fabric.addressing.host_links != "shared":
        return "its hosts share no subnet (`host_links: shared`)"
    if any(traffic_class.priority is not None for traffic_class in fabric.classes):
        return "it has a class without loss, which is not rendered for the parts of a bond"
    if system is None or not system.has_bonds:
        return "the switches there have none"
    return ""


@rule("CW227", Severity.ERROR)
def bond_name_taken(subject: Subject) -> Iterator[Problem]:
    """Bonds with the name of another bond of the same nodes, or of a NIC of their model."""
    taken: dict[tuple[str, str], str] = {}
    for fabric, attach, bond in _bonds(subject):
        group = subject.spec.node_group(attach.nodes or "")
        node_bonds = {nic.interface for nic in group.model.nics} if group is not None else set()
        other = taken.setdefault((attach.nodes or "", bond.interface), fabric.name)
        if bond.interface in node_bonds or other != fabric.name:
            what = f"a NIC of {_model(group)}" if bond.interface in node_bonds else f"their bond on {other}"
            message = f"{attach.nodes} have a bond {bond.interface} on {fabric.name}, and that is {what}."
            yield Problem((*bond.path, "interface"), message, "Give it another name.")


def _model(group: NodeGroup | None) -> str:
    return group.model.name if group is not None else ""


@rule("CW228", Severity.ERROR)
def boot_over_bond(subject: Subject) -> Iterator[Problem]:
    """Bonds on the boot fabric at switches without LACP fallback."""
    boot = subject.spec.boot
    for fabric, attach, _ in _bonds(subject):
        system = _system(subject, fabric, attach)
        group = subject.spec.node_group(attach.nodes or "")
        boots = boot is not None and boot.fabric == fabric.name and group is not None and group.image is not None
        if boots and system is not None and system.has_bonds and not system.bonds_fall_back:
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
