"""Partitions of InfiniBand as paths between zones, compared with the declared ones.

Two ports reach each other by a P_Key held by both, at least one of them as a full member; switches and adapters check
every packet so, both ways alike. Ports of the same zones with the same memberships are checked together. In addition to
the planned ports there is one unplanned adapter: it gets the rights that a file gives to all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from clusterwright.hosts.opensm.reader.lists import parse_options
from clusterwright.hosts.opensm.reader.partitions import DEFAULT_PKEY, BadStatement, Statement, parse_partitions
from clusterwright.proofs.check import Counterexample, Fact
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.manager_options import CONFIG, places
from clusterwright.proofs.infiniband.subnet import SUBNET_INTENT
from clusterwright.proofs.tree import RenderedTree

_FULL = frozenset({"full", "both"})
_STRANGER = 0  # GUID of no planned port
_SHOWN = 6  # differences for each subnet
_Memberships = dict[int, dict[int, tuple[bool, int]]]  # port GUID, then P_Key: full membership, and its line
_Keys = frozenset[tuple[int, bool]]
PARTITION_INTENT = SUBNET_INTENT | {"endpoints", "managers", "open_default", "partitions"}
"""Properties of the declaration compared with the packets between partitions."""


class _PortKind(NamedTuple):
    """Common properties of ports: their zones, their keys by the text and by the spec."""

    zones: tuple[str, ...]
    rendered: _Keys
    planned: _Keys


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """Packets between partitions of all InfiniBand subnets, compared with the declaration."""

    facts: tuple[Fact, ...]
    faults: tuple[Counterexample, ...]


def partition_verdict(tree: RenderedTree, declaration: Declaration) -> PartitionVerdict:
    """Differences between the zones reaching each other and the declared ones."""
    checked: set[object] = set()
    faults: list[Counterexample] = []
    subnets: set[str] = set()
    ports = pairs = 0
    for device, folder in places(tree):
        config = f"{folder}/{CONFIG}"
        options = parse_options(tree.text(device, config) or "")
        path = options["partition_config_file"].value.lstrip("/") if "partition_config_file" in options else ""
        text = tree.text(device, path)
        guid = options["guid"].value if "guid" in options else ""
        subnet = _subnet(declaration, device, guid)
        enforced = options["part_enforce"].value if "part_enforce" in options else "both"
        if subnet is None or (subnet, text, enforced) in checked:
            continue
        checked.add((subnet, text, enforced))
        managers = _managers(tree, config, declaration, subnet, text)
        all_ports = declaration.ports[subnet] | {_STRANGER}
        memberships = _memberships(text, all_ports, managers) if enforced != "off" else _open(all_ports)
        kinds = _kinds(memberships, declaration, subnet, managers)
        differences = list(_differences(kinds, memberships, declaration, subnet))[:_SHOWN]
        file = path or config
        faults += [Counterexample(device, file, line, message) for line, message in differences]
        if subnet not in subnets:
            subnets.add(subnet)
            ports += len(memberships) - 1
            zones = set(chain.from_iterable(kind.zones for kind in kinds))
            pairs += len(zones) ** 2
    facts = (Fact("InfiniBand ports in partitions", ports), Fact("pairs of zones over InfiniBand", pairs))
    shown_facts = facts if subnets else ()
    return PartitionVerdict(facts=shown_facts, faults=tuple(faults))


def _subnet(declaration: Declaration, device: str, guid: str) -> str | None:
    """Subnet of a manager: that of the port it is bound to, else that of its host."""
    number = int(guid, 16) if re.fullmatch(r"0x[0-9a-fA-F]+", guid) else 0
    for subnet, guids in declaration.ports.items():
        if number in guids:
            return subnet
    for subnet, guids in declaration.ports.items():
        if any(declaration.endpoints[guid][0] == device for guid in guids):
            return subnet
    return None


def _managers(
    tree: RenderedTree, config: str, declaration: Declaration, subnet: str, text: str | None
) -> frozenset[int]:
    """Ports of a subnet's managers.

    These are ports of the hosts with a manager's files in the tree. If the spec needs more managers, they are ports
    listed as full members of the default partition, on possible hosts.
    """
    hosts, wanted = declaration.managers.get(subnet, (frozenset(), 0))
    hosts_in_tree = frozenset(tree.devices_with(config))
    guids = {guid for guid in declaration.ports[subnet] if declaration.endpoints[guid][0] in hosts_in_tree}
    remaining = wanted - len({declaration.endpoints[guid][0] for guid in guids})
    try:
        statements = parse_partitions(text or "")
    except BadStatement:
        return frozenset(guids)
    named: list[int] = []
    for statement in statements:
        if statement.pkey == DEFAULT_PKEY:
            named += [member.guid for member in statement.members if member.membership in _FULL]
    for guid in named:
        host = declaration.endpoints.get(guid, ("", ""))[0]
        if remaining > 0 and host in hosts - hosts_in_tree:
            guids.add(guid)
            remaining -= 1
    return frozenset(guids)


def _open(ports: frozenset[int]) -> _Memberships:
    """Memberships of opensm without a readable file: every port is a full member of the default partition."""
    return {guid: {DEFAULT_PKEY: (True, 0)} for guid in ports}


def _memberships(text: str | None, ports: frozenset[int], managers: frozenset[int]) -> _Memberships:
    try:
        statements = parse_partitions(text or "")
    except BadStatement:
        return _open(ports)
    if not statements:
        return _open(ports)
    memberships_by_port: _Memberships = {guid: {} for guid in ports}
    for statement in statements:
        _add_members(memberships_by_port, statement, ports, managers)
    if not any(statement.pkey == DEFAULT_PKEY for statement in statements):
        for memberships in memberships_by_port.values():
            memberships[DEFAULT_PKEY] = (True, 0)
    return memberships_by_port


def _add_members(
    memberships_by_port: _Memberships, statement: Statement, ports: frozenset[int], managers: frozenset[int]
) -> None:
    """Add a statement's members to their memberships; of several for a port the last holds, as in opensm."""
    if statement.pkey is None:
        return
    for member in statement.members:
        named = {"ALL": ports, "ALL_CAS": ports, "SELF": managers}.get(member.keyword, frozenset())
        if not named and member.guid:
            named = frozenset({member.guid})
        for guid in named:
            memberships_by_port.setdefault(guid, {})[statement.pkey] = (member.membership in _FULL, member.line)


def _kinds(
    memberships: _Memberships, declaration: Declaration, subnet: str, managers: frozenset[int]
) -> dict[_PortKind, list[int]]:
    """Ports by kind, in order."""
    is_open = subnet in declaration.open_default
    wanted: dict[int, set[tuple[int, bool]]] = {}
    for guid in (*declaration.ports[subnet], _STRANGER):
        is_full_member = is_open or guid in managers
        wanted[guid] = {(DEFAULT_PKEY, is_full_member)}
    for partition in declaration.partitions:
        if partition.subnet != subnet:
            continue
        for guid, membership in partition.members.items():
            wanted[guid].add((partition.pkey, membership in _FULL))
    zones = declaration.isolation.zones_of if declaration.isolation is not None else {}
    kinds: dict[_PortKind, list[int]] = {}
    for guid in sorted(memberships):
        host, _ = declaration.endpoints.get(guid, ("", ""))
        rendered = frozenset((pkey, is_full) for pkey, (is_full, _) in memberships[guid].items())
        planned = frozenset(wanted.get(guid, ()))
        kind = _PortKind(zones=zones.get(host, ()), rendered=rendered, planned=planned)
        kinds.setdefault(kind, []).append(guid)
    return kinds


def _shared_pkeys(first: _Keys, second: _Keys) -> set[int]:
    """P_Keys by which two ports reach each other."""
    shared = set()
    for pkey, is_full in first:
        if (pkey, True) in second or (is_full and (pkey, False) in second):
            shared.add(pkey)
    return shared


def _differences(
    kinds: Mapping[_PortKind, list[int]], memberships: _Memberships, declaration: Declaration, subnet: str
) -> Iterator[tuple[int, str]]:
    names = {partition.pkey: partition.name for partition in declaration.partitions if partition.subnet == subnet}
    names[DEFAULT_PKEY] = "Default"
    listed = list(kinds.items())
    for index, (kind, guids) in enumerate(listed):
        for peer_kind, peer_guids in listed[index:]:
            is_same_kind = kind == peer_kind
            if is_same_kind and len(guids) == 1:
                continue
            guid = guids[0]
            peer = peer_guids[1] if is_same_kind else peer_guids[0]
            rendered = _shared_pkeys(kind.rendered, peer_kind.rendered)
            planned = _shared_pkeys(kind.planned, peer_kind.planned)
            if bool(rendered) == bool(planned):
                continue
            ends = f"{_end(declaration, guid)} and {_end(declaration, peer)}"
            pair = f"{_zones(kind)} and {_zones(peer_kind)} over {subnet}, both ways"
            pkey = min(rendered or planned)
            label = f"partition {names.get(pkey, 'of no zone')} (0x{pkey:04x})"
            line = _line(memberships, pkey, (guid, kind), (peer, peer_kind))
            if rendered:
                yield line, f"{ends} reach each other by {label}, {pair}: no partition of the spec joins them."
            else:
                yield line, f"{ends} do not reach each other, {pair}: {label} should join them."


def _line(memberships: _Memberships, pkey: int, *ends: tuple[int, _PortKind]) -> int:
    """Line with an undeclared P_Key of one of two ports, or else the last line of the key; 0 without one."""
    last_line = 0
    for guid, kind in ends:
        if pkey not in memberships[guid]:
            continue
        is_full, line = memberships[guid][pkey]
        if (pkey, is_full) not in kind.planned:
            return line
        last_line = max(last_line, line)
    return last_line


def _end(declaration: Declaration, guid: int) -> str:
    end = declaration.endpoints.get(guid)
    if guid == _STRANGER:
        return "an adapter that is not planned"
    return f"{end[0]} {end[1]} (0x{guid:016x})" if end is not None else f"0x{guid:016x}, which is not planned"


def _zones(kind: _PortKind) -> str:
    return " and ".join(kind.zones) or "no zone"
