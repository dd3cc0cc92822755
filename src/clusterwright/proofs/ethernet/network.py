"""The Ethernet networks of a tree: routers, the cables between them, and the resulting fabrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clusterwright.facts.reader import SystemReader, Unsupported
from clusterwright.facts.router import Port, Prefix, Router, Session
from clusterwright.finding import VerifyError
from clusterwright.hosts.linux.reader.network import DEVICES, NETWORKS, ConfiguredNic, read_nics
from clusterwright.proofs.reading import SwitchReading
from clusterwright.proofs.tree import RenderedFile, RenderedTree
from clusterwright.proofs.unread import unread_of
from clusterwright.switches.readers import READERS, ROUTERS

KINDS = frozenset({"node-network", "node-qos", "nccl"}).union(*(reader.kinds for reader in ROUTERS))
NETWORK_INTENT = frozenset({"drained", "roles", "tiers", "unchecked_switches"})
"""Parts of the declaration that shape a tree's network beside its text; each claim about the network reads them."""
_ENDS = 2  # of a cable
Integers = NDArray[np.int64]
_BySystem = tuple[tuple[Router, ...], ...]  # of each reader


class RoutedLink(NamedTuple):
    """A cable between two routed ports: indices of the routers in the fabric, and their ports."""

    a: int
    a_port: Port
    b: int
    b_port: Port

    @property
    def both_ends(self) -> tuple[tuple[int, Port], tuple[int, Port]]:
        """Each router with its port."""
        return (self.a, self.a_port), (self.b, self.b_port)


Mismatch = tuple[Router, Port, str]
"""A port with a description that disagrees with the far end of its cable, and the disagreement."""


@dataclass(frozen=True, eq=False)
class RoutedFabric:
    """Routers connected by cables."""

    routers: tuple[Router, ...]
    links: tuple[RoutedLink, ...]
    nics: tuple[tuple[ConfiguredNic, int], ...]
    """NICs of nodes with addresses, each with the index of its router."""
    rank: Integers
    """The level of each router's tier, 0 for the lowest.

    Several tiers may have one level. Levels come from the spec; without one, the tier with most hosts is the lowest.
    """
    idle: frozenset[str] = frozenset()
    """Devices drained by the spec: their ports are up and carry no traffic."""

    @property
    def ports(self) -> Iterator[tuple[Router, Port]]:
        """Every port, with its router."""
        for router in self.routers:
            for port in router.ports:
                yield router, port

    @property
    def sessions(self) -> Iterator[tuple[Router, Session]]:
        """Every BGP session, with its router."""
        for router in self.routers:
            for session in router.sessions:
                yield router, session

    @property
    def link_ends(self) -> Iterator[tuple[int, Port]]:
        """Both ends of every link: the index of the router, and its port."""
        return chain.from_iterable(link.both_ends for link in self.links)

    @property
    def prefixes(self) -> Iterator[Prefix]:
        """The prefixes originated by its routers."""
        for router in self.routers:
            for prefix, _ in router.networks:
                yield prefix

    @cached_property
    def name(self) -> str:
        """The tiers from the bottom, as ``rtsw-ctsw-atsw``."""
        stems: dict[str, int] = {}
        for router, rank in zip(self.routers, self.rank, strict=True):
            stems.setdefault(router.stem, int(rank))
        return "-".join(sorted(stems, key=lambda stem: stems[stem]))

    @cached_property
    def tiers(self) -> tuple[tuple[str, Integers], ...]:
        """Name and routers of each tier, lowest first."""
        stems = np.array([router.stem for router in self.routers])
        order = sorted(set(stems.tolist()), key=lambda stem: (int(self.rank[stems == stem][0]), stem))
        return tuple((stem, np.flatnonzero(stems == stem)) for stem in order)

    @cached_property
    def ends(self) -> Integers:
        """The two routers of each link."""
        return np.array([(link.a, link.b) for link in self.links], np.int64).reshape(-1, 2)

    @cached_property
    def silent(self) -> NDArray[np.bool_]:
        """Whether a router announces nothing to any neighbour."""
        return np.array([router.is_silent for router in self.routers], bool)

    @property
    def is_lossless(self) -> bool:
        """True when any of its switches has a lossless priority."""
        return any(router.qos is not None and router.qos.lossless for router in self.routers)


@dataclass(frozen=True, eq=False)
class RoutedNetwork:
    """All routers of a tree by name, their fabrics, and cables with disagreeing ends."""

    routers: Mapping[str, Router]
    fabrics: tuple[RoutedFabric, ...]
    mismatches: tuple[Mismatch, ...]


def has_network(tree: RenderedTree) -> bool:
    """True when a device of the tree has a switch's configuration."""
    return any(reader.file in tree.paths for reader in ROUTERS)


@lru_cache(maxsize=2)
def network_of_tree(tree: RenderedTree) -> RoutedNetwork:
    """The network described by a tree's text. Raises VerifyError for text that does not parse."""
    by_system = zip(*_routers_read(tree).parts, strict=True)
    routers: list[Router] = list(chain.from_iterable(chain.from_iterable(by_system)))
    drained = frozenset[str]()
    if tree.declaration is not None:
        roles, unchecked = tree.declaration.roles, tree.declaration.unchecked_switches
        checked = (router for router in routers if router.device not in unchecked)
        routers = [replace(router, role=roles.get(router.device, "")) for router in checked]
        drained = tree.declaration.drained
    return _assemble(routers, list(_nics(tree)), _declared_tiers(tree), drained)


def without_cables(tree: RenderedTree) -> str:
    """The reason why no claim about cables can be checked: no port's description names its far end; "" for none.

    Readers take a cable from the rendered form of descriptions, ``to DEVICE PORT``; other sites use other forms.
    """
    if not has_network(tree):
        return ""
    network = network_of_tree(tree)
    if len(network.routers) < _ENDS or network.mismatches or any(fabric.links for fabric in network.fabrics):
        return ""
    for router in network.routers.values():
        for port in router.ports:
            if port.address is not None and port.peer and " " not in port.peer:
                where = f"{router.device} {port.name} has {port.peer}"
                return f"not proven, because no description names the cable of its port as `to DEVICE PORT`: {where}"
    return ""


def routers_read(tree: RenderedTree) -> tuple[SwitchReading[_BySystem], ...]:
    """The reading of the routers of a tree; nothing for a tree without routers."""
    return (_routers_read(tree),) if has_network(tree) else ()


@lru_cache(maxsize=2)
def _routers_read(tree: RenderedTree) -> SwitchReading[_BySystem]:
    return SwitchReading(tree, partial(_routers_of_part, tree))


def _routers_of_part(tree: RenderedTree, part: RenderedTree) -> _BySystem:
    """The routers of a part, by reader; parse errors are recorded on the whole ``tree``."""
    read = _routers_of_files(tuple(part.files.values()))
    tree.unreadable.update(read.errors)
    return read.routers


class _RoutersRead(NamedTuple):
    """The routers described by files, and the parse errors by file."""

    routers: _BySystem
    errors: Mapping[RenderedFile, str]


@lru_cache(maxsize=64)  # parts: two states of the largest cluster share most of their files
def _routers_of_files(files: tuple[RenderedFile, ...]) -> _RoutersRead:
    by_place = {(file.device, file.path): file for file in files}
    errors: dict[RenderedFile, str] = {}
    routers = tuple(tuple(_routers(by_place, reader, errors)) for reader in READERS)
    return _RoutersRead(routers=routers, errors=errors)


def _routers(
    files: Mapping[tuple[str, str], RenderedFile], reader: SystemReader, errors: dict[RenderedFile, str]
) -> Iterator[Router]:
    """The routers of one system; parse errors are added to ``errors``."""
    if isinstance(reader.router, Unsupported):
        return
    devices = [device for device, path in files if path == reader.file]
    for device in sorted(devices):
        try:
            router = reader.router(device, partial(_text_of, files, device))
        except VerifyError as error:
            errors[files[device, reader.file]] = str(error)
            continue
        if router is not None:
            yield router
        for path in reader.unread:  # every check needs it, and the parsed text is at hand now
            file = files.get((device, path))
            if file is not None:
                unread_of(file)


def _text_of(files: Mapping[tuple[str, str], RenderedFile], device: str, path: str) -> str:
    file = files.get((device, path))
    return file.read() if file is not None else ""


def _nics(tree: RenderedTree) -> Iterator[ConfiguredNic]:
    files_by_device: dict[str, list[RenderedFile]] = {}
    for device, path in tree.below((NETWORKS, DEVICES)):
        is_network = path.startswith(NETWORKS) and path.endswith(".network")
        if is_network or (path.startswith(DEVICES) and path.endswith(".netdev")):
            files_by_device.setdefault(device, []).append(tree.files[device, path])
    for device, files in files_by_device.items():
        yield from _nics_of_files(device, tuple(files))


@lru_cache(maxsize=1 << 15)  # nodes: two states of a cluster share most of them
def _nics_of_files(device: str, files: tuple[RenderedFile, ...]) -> tuple[ConfiguredNic, ...]:
    return tuple(read_nics(device, {file.path: file.read() for file in files}))


def _declared_tiers(tree: RenderedTree) -> Mapping[str, int]:
    """The level of each role by the spec; empty for a folder, as it has no spec."""
    return tree.declaration.tiers.levels if tree.declaration is not None else {}


def _assemble(
    routers: list[Router], nics: list[ConfiguredNic], declared: Mapping[str, int], idle: frozenset[str]
) -> RoutedNetwork:
    """The fabrics of linked switches, with the NICs at their ports."""
    index_by_device = {router.device: index for index, router in enumerate(routers)}
    links, mismatches = _links(routers, index_by_device)
    ends = np.array([(link.a, link.b) for link in links], np.int64).reshape(-1, 2)
    shape = (len(routers), len(routers))
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
    count, part_of_router = connected_components(graph, directed=False)
    parts = [_Part([], [], []) for _ in range(count)]
    place = [0] * len(routers)
    for index, router in enumerate(routers):
        part = parts[part_of_router[index]]
        place[index] = len(part.routers)
        part.routers.append(router)
    for link in links:
        part = parts[part_of_router[link.a]]
        part.links.append(RoutedLink(a=place[link.a], a_port=link.a_port, b=place[link.b], b_port=link.b_port))
    for nic in nics:
        router_of_nic = index_by_device.get(nic.peer.partition(" ")[0])
        if router_of_nic is not None:
            parts[part_of_router[router_of_nic]].nics.append((nic, place[router_of_nic]))
    return RoutedNetwork(
        routers={router.device: router for router in routers},
        fabrics=tuple(part.fabric(declared, idle) for part in parts),
        mismatches=tuple(mismatches),
    )


def _links(routers: list[Router], index_by_device: Mapping[str, int]) -> tuple[list[RoutedLink], list[Mismatch]]:
    """Links between switches with ports naming each other, and ports with another far end."""
    ports: dict[tuple[str, str], Port] = {}
    for router in routers:
        ports.update(((router.device, port.name), port) for port in router.ports)
    links: list[RoutedLink] = []
    mismatches: list[Mismatch] = []
    for near, router in enumerate(routers):
        for port in router.ports:
            device, _, name = port.peer.partition(" ")
            if port.address is None or device not in index_by_device:
                continue
            far, far_port = index_by_device[device], ports.get((device, name))
            if far_port is None:
                mismatches.append((router, port, f"the cable goes to {device} {name}, which is not in service there"))
            elif far_port.peer != f"{router.device} {port.name}":
                peer = far_port.peer or "nothing"
                mismatches.append((router, port, f"the cable goes to {device} {name}, which names {peer} instead"))
            elif near < far:
                links.append(RoutedLink(a=near, a_port=port, b=far, b_port=far_port))
    return links, mismatches


@dataclass(frozen=True, slots=True)
class _Part:
    routers: list[Router]
    links: list[RoutedLink]
    nics: list[tuple[ConfiguredNic, int]]

    def fabric(self, declared: Mapping[str, int], idle: frozenset[str]) -> RoutedFabric:
        ranks = _declared_ranks(self.routers, declared)
        return RoutedFabric(
            routers=tuple(self.routers),
            links=tuple(self.links),
            nics=tuple(self.nics),
            rank=_ranks(self.routers, self.links) if ranks is None else ranks,
            idle=idle,
        )


def _declared_ranks(routers: list[Router], declared: Mapping[str, int]) -> Integers | None:
    """Each router's tier by the spec, counted from the lowest present; None unless the spec has all of them."""
    if not all(router.stem in declared for router in routers):
        return None
    heights = np.array([declared[router.stem] for router in routers], np.int64)
    return np.unique(heights, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _ranks(routers: list[Router], links: list[RoutedLink]) -> Integers:
    """Each router's tier, inferred. A role is a tier; the role with most hosts, then switches, is the lowest.

    A role is above all roles cabled to it and nearer to the lowest; of two equally near, the one with more switches is
    below. So a switch may be cabled past a tier missing in its group.
    """
    beside: dict[str, set[str]] = {}
    hosts: Counter[str] = Counter()
    for router in routers:
        hosts[router.stem] += len(router.ports)
    members = Counter(router.stem for router in routers)
    for link in links:
        role_a, role_b = routers[link.a].stem, routers[link.b].stem
        beside.setdefault(role_a, set()).add(role_b)
        beside.setdefault(role_b, set()).add(role_a)
        hosts.subtract((role_a, role_b))
    lowest = max(sorted(members), key=lambda stem: (hosts[stem], members[stem]))
    hops = {lowest: 0}
    queue = [lowest]
    for stem in queue:
        for neighbour in sorted(beside.get(stem, set()) - set(hops)):
            hops[neighbour] = hops[stem] + 1
            queue.append(neighbour)
    ranks: dict[str, int] = {}
    for stem in sorted(hops, key=lambda stem: (hops[stem], -members[stem], stem)):
        lower_roles = beside.get(stem, set()) & (ranks.keys() - {stem})
        below = [ranks[role] for role in lower_roles]
        ranks[stem] = max(below, default=-1) + 1
    return np.array([ranks[router.stem] for router in routers], np.int64)
