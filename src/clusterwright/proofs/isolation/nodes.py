"""Filters of nodes: the packets passing each, compared with the flows of its zones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.finding import VerifyError
from clusterwright.packets.boxes import NOTHING, Packet, PacketSet
from clusterwright.packets.filters import InterfaceNumbers, Ruleset
from clusterwright.packets.nft_file import PRIORITIES, read_nft
from clusterwright.packets.passage import Decision, Idle, at_any_rate, base_chains, decide, passing, rated_lines
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.proofs.isolation.bridges import forwarded, sent_to_containers, to_containers
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.declared_bridges import DeclaredBridge
from clusterwright.proofs.isolation.edges import leave_open, unreadable
from clusterwright.proofs.isolation.expected import STATEFUL_PACKETS, Nics, node_input, node_output
from clusterwright.proofs.tree import RenderedTree

RUNNING, BOOTING = "etc/nftables.conf", "etc/nftables-boot.conf"
ZONE_FILE = "etc/firewalld/zones/management.xml"
NETWORKS = "etc/systemd/network/"
_NAME = re.compile(r"\nName=(\S+)$", re.M)
_NicsByFabric = tuple[tuple[str, tuple[str, ...]], ...]
_ADDRESS = re.compile(r"\nAddress=(\S+)/\d+$", re.M)


@dataclass(frozen=True)
class NodeFilter:
    """One file of rules, and the nodes with it and with equal zones and NICs."""

    file: str
    nodes: tuple[str, ...]
    zones: tuple[str, ...]
    nics: Nics
    bridges: tuple[DeclaredBridge, ...]
    ruleset: Ruleset

    @property
    def boots(self) -> bool:
        """True for the rules of an installing machine."""
        return self.file == BOOTING

    def decide(self, hook: str, packet: Packet) -> Decision:
        """Decision on a packet, with its line."""
        return decide(self.ruleset, hook, packet)

    def stopping(self, hook: str, packet: Packet) -> tuple[int, bool]:
        """Line that stops a packet, at least above some rate, and whether the packet passes up to that rate."""
        usual, at_worst = self.decide(hook, packet), decide(at_any_rate(self.ruleset), hook, packet)
        return (at_worst if at_worst.line in rated_lines(self.ruleset) else usual).line, usual.passes


@dataclass(frozen=True, slots=True)
class CheckedHook:
    """Packets passing a filter at a hook, and rules that never decide.

    ``passes`` are all that can pass, ``always`` those without a rate, ``wanted`` those that should.
    """

    hook: str
    passes: PacketSet
    always: PacketSet
    wanted: PacketSet
    idle: tuple[Idle, ...]


def node_filters(
    tree: RenderedTree, declared: DeclaredIsolation, interfaces: InterfaceNumbers
) -> tuple[NodeFilter, ...]:
    """Filters of all nodes, one for all equal nodes; unreadable ones are left open."""
    read: dict[str, Ruleset] = {}
    alike: dict[tuple[str, str, tuple[str, ...], _NicsByFabric, tuple[DeclaredBridge, ...]], list[str]] = {}
    nics_of, unread = _nics(tree, declared)
    refused: dict[str, VerifyError] = {}
    for file in (RUNNING, BOOTING):
        for device in tree.devices_with(file):
            if device not in declared.zones_of or device in unread:
                continue
            text = tree.text(device, file) or ""
            digest = hashlib.sha256(text.encode()).hexdigest()
            if digest not in read and digest not in refused:
                try:
                    read[digest] = read_nft(text, interfaces)
                except Unreadable as error:
                    refused[digest] = unreadable(device, file, error)
            if digest in refused:
                leave_open(tree, device, file, refused[digest])
                continue
            zones, bridges = declared.zones_of.get(device, ()), declared.bridges.get(device, ())
            key = (file, digest, zones, nics_of.get(device, ()), bridges)
            alike.setdefault(key, []).append(device)
    filters: list[NodeFilter] = []
    for (file, digest, zones, nics, bridges), devices in alike.items():
        ruleset = read[digest]
        filters.append(
            NodeFilter(file=file, nodes=tuple(devices), zones=zones, nics=dict(nics), bridges=bridges, ruleset=ruleset)
        )
    return tuple(filters)


def _nics(tree: RenderedTree, declared: DeclaredIsolation) -> tuple[dict[str, _NicsByFabric], frozenset[str]]:
    """Interfaces of each node by fabric, and the nodes with an unreadable interface.

    An interface is on the fabric with its address in the pool.
    """
    unread: set[str] = set()
    interfaces: dict[str, dict[str, list[str]]] = {}
    for device, path in tree.below(NETWORKS):
        if not path.endswith(".network"):
            continue
        text = f"\n{tree.text(device, path)}"
        name, address = _NAME.search(text), _ADDRESS.search(text)
        if name is None or address is None:
            continue
        version = 6 if ":" in address[1] else 4
        try:
            number = addresses(address[1], version).bounds[0][0]
        except ValueError as error:
            leave_open(tree, device, path, VerifyError(f"{device}:/{path}: {error}"))
            unread.add(device)
            continue
        for fabric in declared.fabrics:
            if fabric.version == version and number in fabric.pool:
                interfaces.setdefault(device, {}).setdefault(fabric.name, []).append(name[1])
    for device, fabric_name, port in _set_up_elsewhere(declared):
        interfaces.setdefault(device, {}).setdefault(fabric_name, []).append(port)
    nics = {}
    for device, of_device in interfaces.items():
        nics[device] = tuple((name, tuple(names)) for name, names in of_device.items())
    return nics, frozenset(unread)


def _set_up_elsewhere(declared: DeclaredIsolation) -> Iterator[tuple[str, str, str]]:
    """Node, fabric and interface of each planned address configured by the node's own system."""
    for (version, number), (device, port) in declared.addresses.items():
        if device in declared.networks_elsewhere:
            for fabric in declared.fabrics:
                if fabric.version == version and number in fabric.pool:
                    yield device, fabric.name, port


def loading_faults(declared: DeclaredIsolation, node_filter: NodeFilter) -> Iterator[tuple[int, str]]:
    """Faults of a file in combination with other programs' rules, each with its line."""
    has_neighbours = any(node in declared.beside_others for node in node_filter.nodes)
    if not (node_filter.ruleset.replaces_itself if has_neighbours else node_filter.ruleset.flushes):
        yield 0, "nothing flushes the rules that were loaded before: they stay."
    if not node_filter.bridges:
        return
    for _, chain in base_chains(node_filter.ruleset, "prerouting"):
        if chain.priority >= PRIORITIES["dstnat"]:
            yield chain.policy_line, "Docker writes destinations before this chain, which then sees containers' ports."


def check_hooks(
    declared: DeclaredIsolation, node_filter: NodeFilter, interfaces: InterfaceNumbers
) -> Iterator[CheckedHook]:
    """Packets passing a filter at each hook, and permitted ones. Raises VerifyError for circular jumps."""
    ruleset = node_filter.ruleset
    at_worst = at_any_rate(ruleset)
    for hook in ("input", "forward", "output"):
        passes, idle = _passing(node_filter, ruleset, hook)
        always = passes
        if at_worst is not ruleset:
            always, _ = _passing(node_filter, at_worst, hook)
        wanted = _permitted(declared, node_filter, interfaces, hook)
        yield CheckedHook(hook=hook, passes=passes, always=always, wanted=wanted, idle=idle)


def _permitted(
    declared: DeclaredIsolation, node_filter: NodeFilter, interfaces: InterfaceNumbers, hook: str
) -> PacketSet:
    """Packets that a node should accept, forward or send, by the hook."""
    zones, nics, bridges, boots = node_filter.zones, node_filter.nics, node_filter.bridges, node_filter.boots
    if hook == "input":
        packets = node_input(declared, zones, nics, interfaces, boots=boots)
        return packets - to_containers(bridges, nics, interfaces) if bridges else packets
    if hook == "output":
        packets = node_output(declared, zones, nics, interfaces, boots=boots)
        return packets | sent_to_containers(bridges, interfaces) if bridges else packets
    return forwarded(declared, bridges, zones, nics, interfaces) if bridges else NOTHING


def _passing(node_filter: NodeFilter, ruleset: Ruleset, hook: str) -> tuple[PacketSet, tuple[Idle, ...]]:
    """Packets passing a hook and those before it, and rules that never decide. Raises VerifyError."""
    entering, idle = STATEFUL_PACKETS, tuple[Idle, ...]()
    for stage in stages(ruleset, hook):
        try:
            result = passing(ruleset, stage, entering)
        except Unreadable as error:
            raise unreadable(node_filter.nodes[0], node_filter.file, error) from None
        entering, idle = result.packets, (*idle, *result.idle)
    return entering, idle


def stages(ruleset: Ruleset, hook: str) -> tuple[str, ...]:
    """Hooks on a packet's path: ``prerouting`` for packets from outside, ``postrouting`` for leaving ones."""
    order = {"input": ("prerouting", "input"), "forward": ("prerouting", "forward", "postrouting")}
    wanted = order.get(hook, ("output", "postrouting"))
    return tuple(stage for stage in wanted if stage == hook or base_chains(ruleset, stage))
