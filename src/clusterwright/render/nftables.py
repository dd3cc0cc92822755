"""/etc/nftables.conf of a node: everything is denied but the flows that the spec allows for its zone.

Loaded in one transaction. Besides the flows there pass only loopback, replies and the ICMP that IP itself needs. A
flow of RoCE packets passes on RoCE fabrics alone. (Adapters send those past the kernel; software RoCE does not.)

Flows with a zone of kind ``boot`` stand in a file of their own, which the boot image loads and the running system never
does: the boot network is closed after boot. The boot servers themselves keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Device, Plan
from clusterwright.render.node_nics import is_managed, nics_by_fabric
from clusterwright.render.per_plan import per_plan
from clusterwright.render.templates import template
from clusterwright.render.zone_networks import Contact, contacts_of, zone_networks
from clusterwright.spec.isolation import BOOT, Network

KIND = "nftables"
RUNNING_PATH = "etc/nftables.conf"
BOOT_PATH = "etc/nftables-boot.conf"
_COMMENT_LENGTH = 120  # nft takes 127 bytes
Interfaces = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class AddressSet:
    """A named set of prefixes of one IP version."""

    name: str
    type: str
    elements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accept:
    """One accepting rule: what it matches in nft's words, and why it is there."""

    match: str
    comment: str


@dataclass(frozen=True, slots=True)
class FilterView:
    """What the rule file says: its sets, and the rules of both chains in the spec's order; ``when`` it is loaded."""

    sets: tuple[AddressSet, ...]
    incoming: tuple[Accept, ...]
    outgoing: tuple[Accept, ...]
    when: str


def applies(plan: Plan, device: Device) -> bool:
    """Nodes that run an image."""
    return is_managed(device)


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The filter of the running system and, where there is a boot network, of the boot image; equal within a group."""
    interfaces = tuple(
        (fabric, tuple(nic.interface for nic in nics if nic.version))
        for fabric, nics in nics_by_fabric(plan, device).items()
    )
    for path, booting in ((RUNNING_PATH, False), (BOOT_PATH, True)):
        if not booting or any(zone.kind == BOOT for zone in plan.spec.zones):
            content = _file(plan, device.node_group, interfaces, booting=booting)
            yield Artifact(device.name, path, content, KIND)
    drop_in = "etc/systemd/system/nftables.service.d/90-clusterwright.conf"
    yield Artifact(device.name, drop_in, _service(plan), KIND)


@per_plan
def _service(plan: Plan) -> bytes:
    """Distributions load different files; this names ours."""
    return template("nftables/nftables.service.conf.j2").render().encode()


@per_plan
def _file(plan: Plan, node_group: str, interfaces: Interfaces, *, booting: bool) -> bytes:
    view = filter_view(plan, node_group, interfaces, booting=booting)
    return template("nftables/nftables.conf.j2").render(view=view).encode()


def filter_view(plan: Plan, node_group: str, interfaces: Interfaces, *, booting: bool = False) -> FilterView:
    """The rules of nodes of a group; ``interfaces`` are its addressed NICs by fabric.

    ``booting`` gives those of the boot image: flows with zones of kind ``boot``, which the running system has not.
    """
    by_fabric = {fabric: names for fabric, names in interfaces if names}
    sets: dict[str, AddressSet] = {}
    incoming: list[Accept] = []
    outgoing: list[Accept] = []
    for contact in contacts_of(plan, node_group):
        if (contact.peer.kind == BOOT) is not booting:
            continue
        nic, field, chain = ("oifname", "daddr", outgoing) if contact.outbound else ("iifname", "saddr", incoming)
        for name, fabrics, networks in _peers(plan, contact):
            names = tuple(interface for fabric in fabrics for interface in by_fabric.get(fabric, ()))
            for group in _sets(sets, name, networks) if names else ():
                protocol = _protocol(contact, group)
                match = f"{nic} {_anonymous(names)} {_family(group)} {field} @{group.name}"
                chain.append(Accept(f"{match} {protocol}".rstrip(), _comment(contact)))
    return FilterView(tuple(sets.values()), tuple(incoming), tuple(outgoing), "installing" if booting else "running")


def _peers(plan: Plan, contact: Contact) -> Iterator[tuple[str, tuple[str, ...], tuple[Network, ...]]]:
    """Set name, fabrics and networks of a peer.

    On a shared fabric these are only its addresses there, so that a frontend address that shows up on a backend NIC is
    denied. A peer that shares no fabric with the node comes over any plain Ethernet fabric of the contact.
    """
    entries = zone_networks(plan, contact.peer.name)
    rest = tuple(entry.network for entry in entries if entry.fabric not in contact.fabrics)
    elsewhere = tuple(
        name for name in contact.fabrics if (fabric := plan.spec.fabric(name)) and fabric.technology == "ethernet"
    )
    for name in contact.fabrics:
        here = tuple(entry.network for entry in entries if entry.fabric == name)
        if here:
            yield f"{contact.peer.name}_on_{name}", (name,), here
    if not any(entry.fabric in contact.fabrics for entry in entries):
        yield contact.peer.name, elsewhere, rest
    elif contact.peer.prefixes:
        yield f"{contact.peer.name}_outside", elsewhere, tuple(e.network for e in entries if not e.fabric)


def _sets(known: dict[str, AddressSet], name: str, networks: tuple[Network, ...]) -> list[AddressSet]:
    """The sets of these networks, one per IP version, made when first used."""
    found = []
    for version in (4, 6):
        elements = tuple(str(network) for network in networks if network.version == version)
        if elements:
            label = f"{name.replace('-', '_')}_v{version}"
            found.append(known.setdefault(label, AddressSet(label, f"ipv{version}_addr", elements)))
    return found


def _family(group: AddressSet) -> str:
    return "ip" if group.type == "ipv4_addr" else "ip6"


def _anonymous(names: tuple[str, ...]) -> str:
    return "{ " + ", ".join(f'"{name}"' for name in names) + " }"


def _protocol(contact: Contact, group: AddressSet) -> str:
    flow = contact.flow
    if flow.protocol == "icmp":
        return "icmp type echo-request" if group.type == "ipv4_addr" else "icmpv6 type echo-request"
    if flow.protocol == "any":
        return ""
    if not flow.ports:
        return f"meta l4proto {flow.protocol}"
    ports = ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in flow.ports)
    return f"{flow.protocol} dport {{ {ports} }}"


def _comment(contact: Contact) -> str:
    text = f"{contact.flow.source} to {contact.flow.target}: {contact.flow.reason}"
    plain = "".join(char if char.isprintable() and char not in '"\\' and char.isascii() else "'" for char in text)
    return plain[:_COMMENT_LENGTH]
