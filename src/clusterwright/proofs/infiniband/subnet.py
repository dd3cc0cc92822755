"""A subnet by its manager's files: the parsed fabric, and each switch's rank below the listed roots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from clusterwright.and_more import and_more
from clusterwright.facts.reader import Unsupported
from clusterwright.hosts.opensm.reader.fabric import Adapter, DiscoveredFabric, Integers, parse_fabric
from clusterwright.hosts.opensm.reader.lists import Option, parse_guids, parse_names, parse_options
from clusterwright.proofs.check import Counterexample, Fact
from clusterwright.proofs.infiniband.manager_options import CONFIG, UFM_FOLDER, places
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_SHOWN = 3
FABRIC, NAMES = "fabric.net", "ib-node-name-map"
# Options with the paths of files read by claims about the subnet.
ROOT_LIST, COMPUTE_LIST, NAME_MAP = "root_guid_file", "cn_guid_file", "node_name_map_name"
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
# Managed switches belong to it, as they could run a subnet manager of their own.
KINDS = frozenset({"opensm", "ufm", "opensm-fabric"}).union(
    *(reader.kinds for reader in READERS if isinstance(reader.router, Unsupported))
)

SUBNET_INTENT = frozenset({"ports", "subnets"})
"""The parts of the declaration read by every claim about subnets, to find the subnet's name for a manager's files."""


@dataclass(frozen=True, eq=False)
class ManagedSubnet:
    """The subnet in the files of one subnet manager's host."""

    device: str
    folder: str
    options: Mapping[str, Option]
    names: Mapping[int, Option]
    """Names of switch chips by GUID."""
    names_file: str
    roots: Mapping[int, int]
    """The line of each root by GUID."""
    roots_file: str
    compute: Mapping[int, int]
    """The line of each compute adapter by port GUID."""
    compute_file: str
    fabric: DiscoveredFabric
    rank: Integers
    """Each switch's distance from the roots in hops, -1 without a path."""
    managers: frozenset[int]
    """Port GUIDs of all managers with the same files."""
    lacking: Mapping[str, str]
    """Paths of missing files by their option, the fabric's by its file name.

    They are read as empty; a check that needs one calls ``lack`` first.
    """

    def lack(self, *names: str) -> str:
        """The reason why a claim on the fabric and the files of these options is not proven; "" with all files."""
        for name in (FABRIC, *names):
            if name in self.lacking:
                return f"not proven, because {self.device}:/{self.lacking[name]} is missing"
        return ""

    @property
    def config_file(self) -> str:
        """The path of opensm.conf on the host."""
        return f"{self.folder}/{CONFIG}"

    @property
    def is_open(self) -> bool:
        """True for the open subnet manager, False for NVIDIA's."""
        return self.folder != UFM_FOLDER

    @cached_property
    def adapter_by_guid(self) -> Mapping[int, Adapter]:
        """Adapters by port GUID."""
        return {adapter.guid: adapter for adapter in self.fabric.adapters}

    @cached_property
    def links(self) -> csr_array:
        """The number of links between two switches; symmetric."""
        near, far = self.fabric.trunks[:, 0], self.fabric.trunks[:, 2]
        count = len(self.fabric.switches)
        ones = np.ones(2 * len(near))
        return csr_array((ones, (np.append(near, far), np.append(far, near))), shape=(count, count))

    @cached_property
    def up(self) -> csr_array:
        """Links upwards, from each switch (row) to those one rank nearer to the roots (column).

        Only switches with traffic have any: a path climbs before it descends, so no path leads through a switch without
        an adapter at it or below it.
        """
        both = self.links.tocoo()
        keep = self.carries[both.row] & (self.rank[both.row] == self.rank[both.col] + 1) & (self.rank[both.col] >= 0)
        return csr_array((both.data[keep], (both.row[keep], both.col[keep])), shape=both.shape)

    @cached_property
    def carries(self) -> Mask:
        """For each switch, whether it has adapters at it or below it, and so paths through it."""
        return self.carrying(np.ones(len(self.fabric.taps), np.bool_))

    def carrying(self, taps: Mask) -> Mask:
        """For each switch, whether an adapter of ``taps`` is cabled to it or below it."""
        carries = np.bincount(self.fabric.taps[taps, 1], minlength=len(self.fabric.switches)) > 0
        near, far = self.fabric.trunks[:, 0], self.fabric.trunks[:, 2]
        for rank in range(int(self.rank.max(initial=0)), 0, -1):
            for below, above in ((near, far), (far, near)):
                climbing = (self.rank[below] == rank) & (self.rank[above] == rank - 1) & carries[below]
                carries[above[climbing]] = True
        return carries

    @cached_property
    def carrying_links(self) -> csr_array:
        """The links between two switches with traffic."""
        both = self.links.tocoo()
        keep = self.carries[both.row] & self.carries[both.col]
        return csr_array((both.data[keep], (both.row[keep], both.col[keep])), shape=both.shape)

    @cached_property
    def is_compute(self) -> Mask:
        """For each tap, whether its adapter is listed as a compute node's."""
        guids = np.array([adapter.guid for adapter in self.fabric.adapters], np.uint64)
        listed = np.isin(guids, np.array(sorted(self.compute), np.uint64))
        return np.asarray(listed[self.fabric.taps[:, 0]], np.bool_)

    @cached_property
    def endpoints(self) -> Integers:
        """The number of compute adapters at each switch."""
        return np.bincount(self.fabric.taps[self.is_compute, 1], minlength=len(self.fabric.switches))

    @cached_property
    def leaves(self) -> Integers:
        """The switches with compute adapters."""
        return np.flatnonzero(self.endpoints)

    def at_fabric(self, line: int, message: str) -> Counterexample:
        """A counterexample in the fabric file."""
        return Counterexample(device=self.device, file=f"{self.folder}/{FABRIC}", line=line, message=message)

    def without_nodes(self) -> Counterexample:
        """The counterexample to every claim about paths between compute nodes in a subnet without any."""
        return Counterexample(
            device=self.device,
            file=self.compute_file,
            line=0,
            message="no compute node's adapter is cabled: nothing to prove",
        )

    def at_config(self, option: Option | None, message: str) -> Counterexample:
        """A counterexample in opensm.conf, on the line of an option if present."""
        return Counterexample(
            device=self.device, file=self.config_file, line=option.line if option is not None else 0, message=message
        )


def has_subnet(tree: RenderedTree) -> bool:
    """True when a host of the tree has a subnet manager's files."""
    return next(places(tree), None) is not None


@lru_cache(maxsize=2)
def subnets(tree: RenderedTree) -> tuple[ManagedSubnet, ...]:
    """The subnets of a tree, one for each distinct set of files: managers of one fabric have equal ones.

    Raises VerifyError for text that does not parse.
    """
    hosts: dict[tuple[str | None, ...], list[_Host]] = {}
    fabrics: dict[tuple[str, str], DiscoveredFabric] = {}
    for device, folder in places(tree):
        options = parse_options(tree.text(device, f"{folder}/{CONFIG}") or "")
        named = (_path(options, name) for name in (ROOT_LIST, COMPUTE_LIST, "partition_config_file"))
        texts = [tree.text(device, path) for path in (f"{folder}/{FABRIC}", _names_file(folder, options), *named)]
        # The port and the priority differ between managers.
        settings = repr(sorted((name, o.value) for name, o in options.items() if name not in {"guid", "sm_priority"}))
        hosts.setdefault((folder, settings, *texts), []).append(_Host(device, folder, options))
    return tuple(_read(tree, equal, fabrics) for equal in hosts.values())


class _Host(NamedTuple):
    device: str
    folder: str
    options: Mapping[str, Option]


def named_facts(tree: RenderedTree, subnet: ManagedSubnet, facts: Iterable[Fact]) -> list[Fact]:
    """Facts with the name of their subnet in a tree with several.

    Without a spec, the host and the folder of a manager replace the name.
    """
    if len(subnets(tree)) == 1:
        return list(facts)
    ports = (adapter.guid for adapter in subnet.fabric.adapters)
    name = tree.declaration.subnet_with(ports) if tree.declaration is not None else None
    label = name or f"{subnet.device}:/{subnet.folder}"
    return [replace(fact, name=f"{label}: {fact.name}") for fact in facts]


def lacking_subnets(tree: RenderedTree) -> str:
    """The reason why no claim on all subnets is proven: planned subnets without a manager's files; "" for none."""
    if tree.declaration is None:
        return ""
    present = set()
    for subnet in subnets(tree):
        present.add(tree.declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters))
    if None in present:
        return ""  # the files of an unplanned subnet are reported by themselves
    lacking = [name for name in tree.declaration.subnets if name not in present]
    return f"not proven, because no host has files of a manager of {and_more(lacking, _SHOWN)}" if lacking else ""


def _path(options: Mapping[str, Option], name: str) -> str:
    return options[name].value.lstrip("/") if name in options else ""


def _names_file(folder: str, options: Mapping[str, Option]) -> str:
    return _path(options, NAME_MAP) or f"{folder}/{NAMES}"


def _number(text: str) -> int:
    """A GUID option as a number; 0 (any port to opensm) for other text."""
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) else 0


def _read(tree: RenderedTree, hosts: list[_Host], fabrics: dict[tuple[str, str], DiscoveredFabric]) -> ManagedSubnet:
    """The subnet of hosts with equal files. ``fabrics`` stores parsed fabrics."""
    device, folder, options = hosts[0]
    paths = {
        FABRIC: f"{folder}/{FABRIC}",
        NAME_MAP: _names_file(folder, options),
        ROOT_LIST: _path(options, ROOT_LIST),
        COMPUTE_LIST: _path(options, COMPUTE_LIST),
    }
    texts = dict.fromkeys(paths, "")
    lacking: dict[str, str] = {}
    for name, path in paths.items():
        text = tree.text(device, path) if path else ""
        if text is None:
            lacking[name] = path
        else:
            texts[name] = text
    places_of = {name: f"{device}:/{path}" for name, path in paths.items()}
    names = parse_names(texts[NAME_MAP], places_of[NAME_MAP])
    key = (texts[NAME_MAP], texts[FABRIC])
    if key not in fabrics:
        called = {guid: option.value for guid, option in names.items()}
        fabrics[key] = parse_fabric(texts[FABRIC], places_of[FABRIC], called)
    fabric = fabrics[key]
    listed = parse_guids(texts[ROOT_LIST], places_of[ROOT_LIST])
    compute = parse_guids(texts[COMPUTE_LIST], places_of[COMPUTE_LIST])
    roots = [index for index, switch in enumerate(fabric.switches) if switch.guid in listed]
    return ManagedSubnet(
        device=device,
        folder=folder,
        options=options,
        names=names,
        names_file=paths[NAME_MAP],
        roots=listed,
        roots_file=paths[ROOT_LIST] or f"{folder}/{CONFIG}",
        # Without a list of compute nodes, every adapter is one to opensm.
        compute=compute if paths[COMPUTE_LIST] else {adapter.guid: adapter.line for adapter in fabric.adapters},
        compute_file=paths[COMPUTE_LIST] or paths[FABRIC],
        fabric=fabric,
        rank=hops_from(fabric, np.array(roots, np.int64)),
        managers=frozenset(_number(host.options["guid"].value) for host in hosts if "guid" in host.options),
        lacking=lacking,
    )


def hops_from(fabric: DiscoveredFabric, starts: Integers) -> Integers:
    """Each switch's distance from the nearest start in links between switches, -1 without a path."""
    hops = np.full(len(fabric.switches), -1, np.int64)
    hops[starts] = 0
    near, far = fabric.trunks[:, 0], fabric.trunks[:, 2]
    for depth in range(len(fabric.switches)):
        unreached = int((hops < 0).sum())
        for source, target in ((near, far), (far, near)):
            hops[target[(hops[source] == depth) & (hops[target] < 0)]] = depth + 1
        if int((hops < 0).sum()) == unreached:
            break
    return hops
