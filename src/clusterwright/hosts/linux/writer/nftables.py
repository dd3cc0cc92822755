"""/etc/nftables.conf of a node: everything is denied but the spec's flows for its zone.

Loaded in one transaction. Besides the flows there pass only loopback, replies and the ICMP that IP itself needs. A flow
of RoCE packets passes on RoCE fabrics alone. (Adapters send those past the kernel; software RoCE does not.)

Flows with a zone of kind ``boot`` stand in a file of their own, loaded by the boot image and never by the running
system: the boot network is closed after boot. The boot servers themselves keep theirs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, product

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.intent.boot_relays import dhcp_port, unnamed_relays
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.filter_cover import ALL_ADDRESSES, ALL_PORTS, Box, box_of, needed, span
from clusterwright.intent.filter_entries import permit_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.zone_networks import Contact, ZoneNetwork, contacts_of, peers_over, zone_networks
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.address_space import MAPPED_IPV4, dropped_sources
from clusterwright.spec.image import Bridge
from clusterwright.spec.isolation import BOOT, Network
from clusterwright.text.templates import template

KIND = "nftables"
RUNNING_PATH = "etc/nftables.conf"
BOOT_PATH = "etc/nftables-boot.conf"
_COMMENT_LENGTH = 120  # nft takes 127 bytes
_NOT_IN_COMMENTS = re.compile(r'[^ -~]|["\\]')  # all but printable ASCII, and what ends or escapes nft's strings
Interfaces = Mapping[str, tuple[str, ...]]
"""A node's addressed NICs by fabric."""


@dataclass(frozen=True, slots=True)
class AddressSet:
    """A named set of prefixes of one IP version."""

    name: str
    type: str
    elements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accept:
    """One accepting rule: its match in nft's syntax, and its reason."""

    match: str
    comment: str


@dataclass(frozen=True, slots=True)
class ContainerBridge:
    """A bridge of containers: its interface, and the networks of its containers by nft's word for the IP version."""

    name: str
    networks: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class FilterView:
    """Values of the rule file: its sets, the rules of both chains in the spec's order, ``when`` it is loaded."""

    sets: tuple[AddressSet, ...]
    dropped_sources: tuple[AddressSet, ...]
    """One set for each IP version: a packet from outside with such a source is dropped before anything else."""
    incoming: tuple[Accept, ...]
    outgoing: tuple[Accept, ...]
    when: str
    bridges: tuple[ContainerBridge, ...] = ()
    interfaces: tuple[str, ...] = ()
    """The node's addressed NICs, which packets for containers come in by."""
    is_alone: bool = True
    """Whether the whole ruleset is this file's; otherwise others have tables too, which it leaves as they are."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A rule for a contact: its interfaces, and its networks of one IP version."""

    contact: Contact
    names: tuple[str, ...]
    peer: str
    version: int
    networks: tuple[Network, ...]


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image."""
    return is_managed(device)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """The filter of the running system and, with a boot network, of the boot image."""
    for path, booting in ((RUNNING_PATH, False), (BOOT_PATH, True)):
        if not booting or any(zone.kind == BOOT for zone in plan.spec.zones):
            yield path, _file(plan, kind, booting=booting), 0o644
    yield "etc/systemd/system/nftables.service.d/90-clusterwright.conf", _service(plan), 0o644


WRITER = Writer(KIND, applies, shared=shared)


@per_plan
def running_digest(plan: Plan, kind: NodeKind) -> str:
    """SHA-256 of the running system's filter."""
    return hashlib.sha256(_file(plan, kind, booting=False)).hexdigest()


@per_plan
def _service(plan: Plan) -> bytes:
    """Distributions load different files; this names ours."""
    return template("nftables/nftables.service.conf.j2").render().encode()


@per_plan
def _file(plan: Plan, kind: NodeKind, *, booting: bool) -> bytes:
    interfaces: dict[str, tuple[str, ...]] = {}
    for fabric, nics in kind.by_fabric().items():
        interfaces[fabric] = tuple(nic.interface for nic in nics if nic.version)
    image = plan.spec.image(kind.image)
    view = filter_view(plan, kind.node_group, interfaces, booting=booting)
    if image is not None and image.is_existing:
        names = dict.fromkeys(chain.from_iterable(interfaces.values()))
        bridges = tuple(_bridge(bridge) for bridge in image.bridges)
        view = replace(view, is_alone=False, bridges=bridges, interfaces=tuple(names))
    return template("nftables/nftables.conf.j2").render(view=view).encode()


def _bridge(bridge: Bridge) -> ContainerBridge:
    networks: dict[str, list[str]] = {}
    for prefix in bridge.prefixes:
        networks.setdefault("ip" if prefix.version == 4 else "ip6", []).append(str(prefix))
    return ContainerBridge(bridge.name, tuple((word, tuple(prefixes)) for word, prefixes in networks.items()))


def filter_view(plan: Plan, node_group: str, interfaces: Interfaces, *, booting: bool = False) -> FilterView:
    """The rules of nodes of a group; ``interfaces`` are its addressed NICs by fabric.

    With ``booting`` they are those of the boot image: flows with zones of kind ``boot`` alone.
    """
    candidates: list[_Candidate] = []
    for contact in contacts_of(plan, node_group):
        if (contact.peer.kind == BOOT) is booting:
            candidates += _candidates(plan, contact, interfaces)
            candidates += _relays(plan, contact, interfaces)
    sets: dict[str, AddressSet] = {}
    incoming: list[Accept] = []
    outgoing: list[Accept] = []
    for candidate, is_needed in zip(candidates, needed(_boxes(candidates)), strict=True):
        if not is_needed:
            continue
        accept = _accept(candidate, _set(sets, candidate))
        if candidate.contact.outbound:
            outgoing.append(accept)
        else:
            incoming.append(accept)
    return FilterView(
        sets=tuple(sets.values()),
        dropped_sources=_dropped_sources(plan),
        incoming=tuple(incoming),
        outgoing=tuple(outgoing),
        when="installing" if booting else "running",
    )


def _candidates(plan: Plan, contact: Contact, interfaces: Interfaces) -> Iterator[_Candidate]:
    """A rule for each set of a contact's networks and each IP version."""
    for name, fabrics, networks in _peers(plan, contact):
        names = tuple(chain.from_iterable(interfaces.get(fabric, ()) for fabric in fabrics))
        if not names:
            continue
        for version in (4, 6):
            of_version = tuple(network for network in networks if network.version == version)
            if of_version:
                yield _Candidate(contact=contact, names=names, peer=name, version=version, networks=of_version)


def _accept(candidate: _Candidate, address_set: AddressSet) -> Accept:
    contact = candidate.contact
    nic, field = ("oifname", "daddr") if contact.outbound else ("iifname", "saddr")
    match = f"{nic} {_anonymous(candidate.names)} {_family(address_set)} {field} @{address_set.name}"
    return Accept(f"{match} {_protocol(contact, address_set)}".rstrip(), _comment(contact))


@per_plan
def _dropped_sources(plan: Plan) -> tuple[AddressSet, ...]:
    """The sets ``nobody_v4`` and ``nobody_v6``, without link-local addresses of a zone of the spec."""
    zone_prefixes: list[Network] = []
    for zone in plan.spec.zones:
        zone_prefixes.extend(entry.network for entry in zone_networks(plan, zone.name))
    sources = dropped_sources(zone_prefixes)
    sets = []
    for version in (4, 6):
        elements = tuple(_written(network) for network in sources if network.version == version)
        sets.append(AddressSet(name=f"nobody_v{version}", type=f"ipv{version}_addr", elements=elements))
    return tuple(sets)


def _written(network: Network) -> str:
    """A network as nft prints it: a single address without its length."""
    if network.prefixlen == network.max_prefixlen:
        return str(network.network_address)
    if network == MAPPED_IPV4:
        return "::ffff:0.0.0.0/96"
    return str(network)


def _relays(plan: Plan, contact: Contact, interfaces: Interfaces) -> Iterator[_Candidate]:
    """Requests of relays without a flow of their own, for a boot server."""
    boot, port = plan.spec.boot, dhcp_port(plan)
    if boot is None or contact.outbound:
        return
    relays = unnamed_relays(plan, contact.zone.name)
    names = interfaces.get(boot.fabric, ())
    if relays and names and contact.flow.opens("udp", port):
        flow = replace(contact.flow, protocol="udp", ports=((port, port),), reason="requests that switches pass on")
        yield _Candidate(
            contact=replace(contact, flow=flow), names=names, peer="relays", version=relays[0].version, networks=relays
        )


def _boxes(candidates: Sequence[_Candidate]) -> Iterator[list[Box]]:
    """The packets of each rule, chain and IP version apart: a pair allowed twice needs one rule."""
    names = dict.fromkeys(chain.from_iterable(candidate.names for candidate in candidates))
    numbers = {name: number for number, name in enumerate(names)}
    for candidate in candidates:
        permit = permit_of(candidate.contact.flow, candidate.version, reply=False)
        place = 2 * candidate.contact.outbound + (candidate.version == 6)
        ports, kinds = permit.target_ports or (ALL_PORTS,), permit.types or (None,)
        boxes = []
        for name, network, high, kind in product(candidate.names, candidate.networks, ports, kinds):
            box = box_of(permit, ALL_ADDRESSES, span(network), low=ALL_PORTS, high=high, kind=kind)
            boxes.append(((place, place), (numbers[name],) * 2, *box))
        yield boxes


def _peers(plan: Plan, contact: Contact) -> Iterator[tuple[str, tuple[str, ...], tuple[Network, ...]]]:
    """Set name, fabrics and networks of a peer.

    On a common fabric these are only its addresses there, so that a frontend address on a backend NIC is denied. Other
    addresses come over any plain Ethernet fabric of the contact.
    """
    everything = zone_networks(plan, contact.peer.name)
    elsewhere: dict[tuple[ZoneNetwork, ...], list[str]] = {}
    for name in contact.fabrics:
        entries = peers_over(plan, contact.zone.name, contact.peer.name, name)
        here = tuple(entry.network for entry in entries if entry.fabric == name)
        if here:
            yield f"{contact.peer.name}_on_{name}", (name,), here
        rest = tuple(entry for entry in entries if entry.fabric != name)
        if rest:
            elsewhere.setdefault(rest, []).append(name)
    for entries, names in elsewhere.items():
        label = contact.peer.name if entries == everything else f"{contact.peer.name}_outside"
        yield label, tuple(names), tuple(entry.network for entry in entries)


def _set(set_by_label: dict[str, AddressSet], rule: _Candidate) -> AddressSet:
    """The set of a rule's networks, made at first use; zones with names of one word get sets of their own."""
    elements = tuple(str(network) for network in rule.networks)
    for number in count(1):
        suffix = "" if number == 1 else f"_{number}"
        label = f"{rule.peer.replace('-', '_')}{suffix}_v{rule.version}"
        address_set = set_by_label.setdefault(label, AddressSet(label, f"ipv{rule.version}_addr", elements))
        if address_set.elements == elements:
            return address_set
    raise AssertionError("there is a number for every set")


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
    ports = ", ".join(_port_range(low, high) for low, high in flow.ports)
    return f"{flow.protocol} dport {{ {ports} }}"


def _port_range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _comment(contact: Contact) -> str:
    text = f"{contact.flow.source} to {contact.flow.target}: {contact.flow.reason}"
    return _NOT_IN_COMMENTS.sub("'", text)[:_COMMENT_LENGTH]
