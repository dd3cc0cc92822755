"""Filters of switches: packets accepted and permitted at each host port and management port."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from ipaddress import IPv4Network, IPv6Network
from itertools import chain
from operator import or_

from clusterwright.facts.reader import IN, OUT, Lists, SystemReader, Unsupported
from clusterwright.finding import VerifyError
from clusterwright.packets.boxes import EVERYTHING, Packet, PacketSet, merged
from clusterwright.packets.filters import Ruleset
from clusterwright.packets.passage import Decision, Idle, decide, passing
from clusterwright.packets.ranges import EMPTY, Ranges, ranges
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.proofs.isolation.declared import DeclaredBorder, DeclaredEdge, DeclaredIsolation
from clusterwright.proofs.isolation.expected import border_passes, carried, edge_input, management_input
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

HOSTS, MANAGEMENT = "host port", "management port"
BORDER_IN, BORDER_OUT = "border port inwards", "border port outwards"
OTHER_IN, OTHER_OUT = "list inwards of", "list outwards of"  # ports that enforce nothing
OUTWARDS = frozenset({BORDER_OUT, OTHER_OUT})
OTHERS = frozenset({OTHER_IN, OTHER_OUT})
OF_FILTERS = frozenset({"isolation"})  # claims about passing packets
_ADDRESS = re.compile(r"(?<![\w.:/])(?:\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:.]*)(?:/\d+)?(?![\w.:/])")


@dataclass(frozen=True)
class PortFilter:
    """Filter of switch ports with the same rules.

    ``kind`` is that of these ports, ``wanted`` the packets that should pass, ``local`` the addresses behind them.
    """

    device: str
    file: str
    kind: str
    fabric: str
    ports: tuple[str, ...]
    ruleset: Ruleset
    wanted: PacketSet
    local: Ranges

    @property
    def direction(self) -> str:
        """``in`` or ``out``."""
        return OUT if self.kind in OUTWARDS else IN

    def decide(self, packet: Packet) -> Decision:
        """Decision on a packet, with its line."""
        return decide(self.ruleset, self.direction, packet)

    def passes(self) -> tuple[PacketSet, tuple[Idle, ...]]:
        """All passing packets, and rules that never decide. Raises Unreadable."""
        result = passing(self.ruleset, self.direction, EVERYTHING)
        return PacketSet(tuple(merged(result.packets.boxes))), result.idle


@dataclass(frozen=True)
class PortGroup:
    """Ports of one kind of a switch of a ``tree``; their rules are read on demand, and not kept."""

    tree: RenderedTree
    declared: DeclaredIsolation
    device: str
    reader: SystemReader
    kind: str
    fabric: str
    ports: tuple[str, ...]
    local: Ranges
    border: DeclaredBorder | None = None
    relays: bool = False

    @property
    def file(self) -> str:
        """File with the rules."""
        return self.reader.file

    @property
    def lists(self) -> Lists:
        """Filters of the switch. Raises VerifyError at an unreadable line."""
        return _lists(self.tree, self.device, self.file)

    def shape(self) -> object:
        """Key equal for groups with the same faults: they differ in local addresses alone.

        In the text the local prefix is replaced by a word; every other address in it counts by its relation to the
        local ones, and so do the zones.
        """
        if self.border is not None or self.kind == OTHER_OUT:
            return self.device, self.kind, self.ports
        text = self.lists.text(self.ports)
        if self.kind in {HOSTS, OTHER_IN}:
            for name in _prefixes(self.local):
                text = text.replace(name, "LOCAL")
        zones = []
        for zone in self.declared.zones:
            parts = [part for part in zone.parts if part.fabric == self.fabric]
            zones += [(zone.name, _stands(part.addresses, self.local)) for part in parts]
        return self.file, self.kind, self.fabric, self.relays, text, _relations(text, self.local), tuple(zones)

    def filters(self) -> Iterator[PortFilter]:
        """Filters of ports with equal rules; none for ports outside all zones. Raises VerifyError."""
        wanted = self._permitted()
        if wanted is None:
            return
        # compared, not hashed: ports share list objects, and a hash would read all of their fields
        alike: list[tuple[object, list[str], Ruleset]] = []
        direction = OUT if self.kind in OUTWARDS else IN
        for port in self.ports:
            try:
                ruleset = self.lists.at(port, direction)
            except Unreadable as error:
                leave_open(self.tree, self.device, self.file, unreadable(self.device, self.file, error))
                continue
            effect = behaviour(ruleset)
            for earlier_effect, ports, _ in alike:
                if earlier_effect == effect:
                    ports.append(port)
                    break
            else:
                alike.append((effect, [port], ruleset))
        for _, ports, ruleset in alike:
            whole = PacketSet(tuple(merged(wanted.boxes)))
            yield PortFilter(
                device=self.device,
                file=self.file,
                kind=self.kind,
                fabric=self.fabric,
                ports=tuple(ports),
                ruleset=ruleset,
                wanted=whole,
                local=self.local,
            )

    def _permitted(self) -> PacketSet | None:
        if self.border is not None:
            return border_passes(self.declared, self.border, outward=self.kind == BORDER_OUT)
        if self.kind in OTHERS:
            return carried(self.declared, self.fabric)
        if self.kind == HOSTS:
            return edge_input(
                self.declared, self.fabric, self.local, relays=self.relays, single_ports=self.reader.single_ports
            )
        return management_input(self.declared, self.fabric, is_stateful=self.reader.is_stateful)


@lru_cache(maxsize=4)
def _lists(tree: RenderedTree, device: str, file: str) -> Lists:
    try:
        return next(reader for reader in READERS if reader.file == file).lists(tree.text(device, file) or "")
    except Unreadable as error:
        raise unreadable(device, file, error) from None


def leave_open(
    tree: RenderedTree, device: str, file: str, error: VerifyError, claims: frozenset[str] = OF_FILTERS
) -> None:
    """Leave claims decided by a device's file open; other files are still checked."""
    tree.left_open.setdefault((device, tree.files[device, file]), []).append((str(error), claims))


def port_groups(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[PortGroup]:
    """Filtered ports of all switches. Raises VerifyError at an unreadable line."""
    edges: dict[str, list[DeclaredEdge]] = {}
    for edge in declared.edges:
        edges.setdefault(edge.switch, []).append(edge)
    borders: dict[str, list[DeclaredBorder]] = {}
    for border in declared.borders:
        borders.setdefault(border.switch, []).append(border)
    for reader in READERS:
        for device in tree.devices_with(reader.file):
            try:
                lists = _lists(tree, device, reader.file)
            except VerifyError as error:
                leave_open(tree, device, reader.file, error)
                continue
            switch = _FilteredSwitch(
                tree=tree,
                declared=declared,
                device=device,
                reader=reader,
                lists=lists,
                edges=edges.get(device, ()),
                borders=borders.get(device, ()),
            )
            yield from switch.groups()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FilteredSwitch:
    """A switch with lists, and its edges and borders in the spec."""

    tree: RenderedTree
    declared: DeclaredIsolation
    device: str
    reader: SystemReader
    lists: Lists
    edges: Sequence[DeclaredEdge]
    borders: Sequence[DeclaredBorder]

    def groups(self) -> Iterator[PortGroup]:
        """Groups of ports: to hosts, to the site, for management, and all others."""
        declared = self.declared
        group = partial(PortGroup, tree=self.tree, declared=declared, device=self.device, reader=self.reader)
        for edge in self.edges:
            if any(zone.on(edge.fabric) for zone in declared.zones):
                for ports, local in _tenants(declared, edge, self.reader):
                    yield group(kind=HOSTS, fabric=edge.fabric, ports=ports, local=local, relays=edge.relays)
        for border in self.borders:
            inside = declared.fabric[border.fabric].pool
            for kind in (BORDER_IN, BORDER_OUT):
                yield group(kind=kind, fabric=border.fabric, ports=(border.port,), local=inside, border=border)
        fabric = declared.management.get(self.device, "")
        ports = self.lists.management_ports()
        if ports and management_input(declared, fabric) is not None:
            yield group(kind=MANAGEMENT, fabric=fabric, ports=ports, local=declared.fabric[fabric].pool)
        fabrics = self.tree.declaration.ethernet if self.tree.declaration is not None else {}
        name = fabrics[self.device].name if self.device in fabrics else ""
        hosts = reduce(or_, (edge.subnet for edge in self.edges), EMPTY)
        for kind, other_ports in _others(self.reader, self.lists, self._planned_ports()).items():
            yield group(kind=kind, fabric=name, ports=tuple(other_ports), local=hosts)

    def _planned_ports(self) -> set[tuple[str, str]]:
        """Ports and directions of the plan, as opposed to other ports of the switch."""
        ports_of_hosts = chain.from_iterable(edge.ports for edge in self.edges)
        planned = {(port, IN) for port in chain(ports_of_hosts, self.lists.management_ports())}
        for border in self.borders:
            planned |= {(border.port, IN), (border.port, OUT)}
        return planned


def _tenants(
    declared: DeclaredIsolation, edge: DeclaredEdge, reader: SystemReader
) -> Iterator[tuple[tuple[str, ...], Ranges]]:
    """Ports of a switch with hosts in the same zones, with the addresses of their links.

    All ports with the whole subnet if no port tells tenants apart.
    """
    ports = declared.ports_by_zones(edge)
    if len(ports) < 2 or not tells_tenants_apart(edge, reader):
        yield tuple(edge.ports), edge.subnet
        return
    for tenant_ports in ports.values():
        links = [declared.link_at[edge.ports[port]] for port in tenant_ports if edge.ports[port] in declared.link_at]
        yield tuple(tenant_ports), ranges(links)


def tells_tenants_apart(edge: DeclaredEdge, reader: SystemReader) -> bool:
    """Whether each port can have a list with its host's addresses.

    Not if hosts share a subnet, nor if the system has one table for all ports.
    """
    return edge.gateway is None and reader.lists_by_port


def _others(reader: SystemReader, lists: Lists, planned: set[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Ports with a list in an unplanned direction: the list may stop packets permitted elsewhere."""
    ports_by_kind: dict[str, list[str]] = {}
    if not isinstance(reader.router, Unsupported):
        for port, direction in lists.bound():
            if (port, direction) not in planned:
                kind = OTHER_OUT if direction == OUT else OTHER_IN
                ports_by_kind.setdefault(kind, []).append(port)
    return ports_by_kind


def behaviour(ruleset: Ruleset) -> object:
    """Key equal for rulesets with the same effect in the same order, even at other line numbers."""
    behaviours: list[object] = []
    for table in ruleset.tables:
        for base_chain in table.chains.values():
            rules = tuple((rule.matches, rule.verdict) for rule in base_chain.rules)
            behaviours.append((base_chain.policy, rules))
    return tuple(behaviours)


@contextmanager
def reading(device: str, file: str) -> Iterator[None]:
    """Raise errors of reading a text as VerifyError."""
    try:
        yield
    except Unreadable as error:
        raise unreadable(device, file, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise VerifyError(f"{device}:/{file}: it does not read ({error!r}). Render the spec again.") from None


@contextmanager
def errors_leave_open(
    tree: RenderedTree, device: str, file: str, claims: frozenset[str] = OF_FILTERS
) -> Iterator[None]:
    """Leave the ``claims`` decided by a device's text open on errors of reading it, and continue."""
    try:
        with reading(device, file):
            yield
    except VerifyError as error:
        leave_open(tree, device, file, error, claims)


def unreadable(device: str, file: str, error: Unreadable) -> VerifyError:
    """Error for text of unknown meaning."""
    return VerifyError(
        f"{device}:/{file}:{error.line}: {error}, so the passing packets are unknown. Write it with what "
        f"`clusterwright explain isolation` names."
    )


@lru_cache(maxsize=1 << 16)
def _prefixes(local: Ranges) -> tuple[str, ...]:
    """Local addresses as one prefix, as files write it; empty unless they are a single prefix."""
    if len(local.bounds) != 1:
        return ()
    low, high = local.bounds[0]
    size = high - low + 1
    kind, bits = (IPv4Network, 32) if high < 1 << 32 else (IPv6Network, 128)
    if size & (size - 1) or low % size:
        return ()
    return (str(kind((low, bits - size.bit_length() + 1))),)


def _relations(text: str, local: Ranges) -> tuple[str, ...]:
    return tuple(_relation(address, local) for address in addresses_in(text))


@lru_cache(maxsize=1 << 10)
def addresses_in(text: str) -> tuple[str, ...]:
    """Every string in a text that looks like an address or a prefix."""
    return tuple(sorted(set(_ADDRESS.findall(text))))


@lru_cache(maxsize=1 << 16)
def _relation(text: str, local: Ranges) -> str:
    """Relation of the addresses in a text to the local ones; "" for text without an address."""
    named = _meant(text)
    return "" if named is None else _stands(named, local)


@lru_cache(maxsize=1 << 12)
def _meant(text: str) -> Ranges | None:
    """Addresses named by a text; None for other text. Cached: many switches have the same."""
    version = 6 if ":" in text else 4
    try:
        return addresses(text, version)
    except ValueError:
        return None


def _stands(named: Ranges, local: Ranges) -> str:
    """Relation of ``named`` addresses to ``local`` ones: "none", "all", or their intersection."""
    both = named & local
    if not both:
        return "none"
    return "all" if both == local else repr(both)
