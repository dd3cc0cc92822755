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
_Seats = dict[int, dict[int, tuple[bool, int]]]  # port GUID, then P_Key: full membership, and its line
_Keys = frozenset[tuple[int, bool]]
PARTITION_INTENT = SUBNET_INTENT | {"endpoints", "managers", "open_default", "partitions"}
"""Properties of the declaration compared with the packets between partitions."""


class _Kind(NamedTuple):
    """Common properties of ports: their zones, their keys by the text and by the spec."""

    zones: tuple[str, ...]
    given: _Keys
    wanted: _Keys


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
        subnet = _subnet(declaration, device, options["guid"].value if "guid" in options else "")
        enforced = options["part_enforce"].value if "part_enforce" in options else "both"
        if subnet is None or (subnet, text, enforced) in checked:
            continue
        checked.add((subnet, text, enforced))
        managers = _managers(tree, config, declaration, subnet, text)
        everybody = declaration.ports[subnet] | {_STRANGER}
        seats = _seats(text, everybody, managers) if enforced != "off" else _open(everybody)
        kinds = _kinds(seats, declaration, subnet, managers)
        differences = list(_differences(kinds, seats, declaration, subnet))
        faults += [
            Counterexample(device=device, file=path or config, line=line, message=message)
            for line, message in differences[:_SHOWN]
        ]
        if subnet not in subnets:
            subnets.add(subnet)
            ports += len(seats) - 1
            zones = set(chain.from_iterable(kind.zones for kind in kinds))
            pairs += len(zones) ** 2
    facts = (Fact("InfiniBand ports in partitions", ports), Fact("pairs of zones over InfiniBand", pairs))
    return PartitionVerdict(facts if subnets else (), tuple(faults))


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
    here = frozenset(tree.devices_with(config))
    guids = {guid for guid in declaration.ports[subnet] if declaration.endpoints[guid][0] in here}
    left = wanted - len({declaration.endpoints[guid][0] for guid in guids})
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
        if left > 0 and host in hosts - here:
            guids.add(guid)
            left -= 1
    return frozenset(guids)


def _open(ports: frozenset[int]) -> _Seats:
    """Memberships of opensm without a readable file: every port is a full member of the default partition."""
    return {guid: {DEFAULT_PKEY: (True, 0)} for guid in ports}


def _seats(text: str | None, ports: frozenset[int], managers: frozenset[int]) -> _Seats:
    try:
        statements = parse_partitions(text or "")
    except BadStatement:
        return _open(ports)
    if not statements:
        return _open(ports)
    seats_by_port: _Seats = {guid: {} for guid in ports}
    for statement in statements:
        _sit(seats_by_port, statement, ports, managers)
    if not any(statement.pkey == DEFAULT_PKEY for statement in statements):
        for seats in seats_by_port.values():
            seats[DEFAULT_PKEY] = (True, 0)
    return seats_by_port


def _sit(seats_by_port: _Seats, statement: Statement, ports: frozenset[int], managers: frozenset[int]) -> None:
    """Add a statement's members to their memberships; of several for a port the last holds, as in opensm."""
    if statement.pkey is None:
        return
    for member in statement.members:
        named = {"ALL": ports, "ALL_CAS": ports, "SELF": managers}.get(member.keyword, frozenset())
        if not named and member.guid:
            named = frozenset({member.guid})
        for guid in named:
            seats_by_port.setdefault(guid, {})[statement.pkey] = (member.membership in _FULL, member.line)


def _kinds(seats: _Seats, declaration: Declaration, subnet: str, managers: frozenset[int]) -> dict[_Kind, list[int]]:
    """Ports by kind, in order."""
    everybody = subnet in declaration.open_default
    wanted: dict[int, set[tuple[int, bool]]] = {
        guid: {(DEFAULT_PKEY, everybody or guid in managers)} for guid in (*declaration.ports[subnet], _STRANGER)
    }
    for partition in declaration.partitions:
        if partition.subnet == subnet:
            for guid, membership in partition.members.items():
                wanted[guid].add((partition.pkey, membership in _FULL))
    zones = declaration.isolation.zones_of if declaration.isolation is not None else {}
    kinds: dict[_Kind, list[int]] = {}
    for guid in sorted(seats):
        end = declaration.endpoints.get(guid)
        given = frozenset((pkey, is_full) for pkey, (is_full, _) in seats[guid].items())
        kind = _Kind(zones.get(end[0], ()) if end is not None else (), given, frozenset(wanted.get(guid, ())))
        kinds.setdefault(kind, []).append(guid)
    return kinds


def _reach(one: _Keys, other: _Keys) -> dict[int, bool]:
    """P_Keys by which two ports reach each other."""
    reaching = {}
    for pkey, is_full in one:
        if (pkey, True) in other or (is_full and (pkey, False) in other):
            reaching[pkey] = True
    return reaching


def _differences(
    kinds: Mapping[_Kind, list[int]], seats: _Seats, declaration: Declaration, subnet: str
) -> Iterator[tuple[int, str]]:
    names = {partition.pkey: partition.name for partition in declaration.partitions if partition.subnet == subnet} | {
        DEFAULT_PKEY: "Default"
    }
    listed = list(kinds.items())
    for at, (one, guids) in enumerate(listed):
        for other, theirs in listed[at:]:
            if one == other and len(guids) == 1:
                continue
            first, second = guids[0], theirs[1] if one == other else theirs[0]
            given, wanted = _reach(one.given, other.given), _reach(one.wanted, other.wanted)
            if bool(given) == bool(wanted):
                continue
            ends = f"{_end(declaration, first)} and {_end(declaration, second)}"
            pair = f"{_zones(one)} and {_zones(other)} over {subnet}, both ways"
            pkey = min(given or wanted)
            label = f"partition {names.get(pkey, 'of no zone')} (0x{pkey:04x})"
            line = _line(seats, pkey, (first, one), (second, other))
            if given:
                yield line, f"{ends} reach each other by {label}, {pair}: no partition of the spec joins them."
            else:
                yield line, f"{ends} do not reach each other, {pair}: {label} should join them."


def _line(seats: _Seats, pkey: int, *ends: tuple[int, _Kind]) -> int:
    """Line with an undeclared P_Key of one of two ports, or else the last line of the key; 0 without one."""
    lines = [seats[guid][pkey] for guid, _ in ends if pkey in seats[guid]]
    odd = [
        seats[guid][pkey][1]
        for guid, kind in ends
        if pkey in seats[guid] and (pkey, seats[guid][pkey][0]) not in kind.wanted
    ]
    return odd[0] if odd else max((line for _, line in lines), default=0)


def _end(declaration: Declaration, guid: int) -> str:
    end = declaration.endpoints.get(guid)
    if guid == _STRANGER:
        return "an adapter that is not planned"
    return f"{end[0]} {end[1]} (0x{guid:016x})" if end is not None else f"0x{guid:016x}, which is not planned"


def _zones(kind: _Kind) -> str:
    return " and ".join(kind.zones) or "no zone"
