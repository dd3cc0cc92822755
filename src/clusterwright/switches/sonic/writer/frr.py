"""SONiC's settings for FRR, as FRR's own file, from the tables of config_db.json.

A switch writes this file itself when its BGP container starts, and keeps it up to date (sonic-frr-mgmt-framework in
sonic-net/sonic-buildimage), so it is never deployed. Programs that read FRR and not the tables take it; it has the
default VRF alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.text.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Tables = Mapping[str, Mapping[str, Any]]

_VRF = "default"


@dataclass(frozen=True, slots=True)
class FrrTerm:
    """An entry of a route map; ``clauses`` are its lines."""

    name: str
    action: str
    number: int
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrrGroup:
    """A peer group; ``limit`` are the words after maximum-prefix, empty without a limit."""

    name: str
    keepalive_s: str
    hold_time_s: str
    bfd: bool
    limit: str
    into: str
    out_of: str


@dataclass(frozen=True, slots=True)
class FrrNeighbour:
    """A neighbour of a peer group; ``local`` is the session's address here."""

    address: str
    remote_as: str
    group: str
    description: str
    local: str


@dataclass(frozen=True, slots=True)
class FrrFile:
    """The values of the template; ``ip`` and ``family`` are FRR's words for the fabric's version of IP."""

    hostname: str
    ip: str
    family: str
    asn: str
    router_id: str
    restart_s: str
    paths: str
    discards: tuple[str, ...]
    networks: tuple[str, ...]
    prefix_lists: tuple[str, ...]
    community_lists: tuple[str, ...]
    terms: tuple[FrrTerm, ...]
    groups: tuple[FrrGroup, ...]
    neighbours: tuple[FrrNeighbour, ...]


def frr_conf(tables: Tables) -> bytes:
    """The file for the tables of one switch; without BGP its host name alone."""
    if not tables.get("BGP_GLOBALS"):
        return f"hostname {tables['DEVICE_METADATA']['localhost']['hostname']}\n".encode()
    return template("sonic/frr.conf.j2").render(frr=_view(tables)).encode()


def _view(tables: Tables) -> FrrFile:
    process = tables["BGP_GLOBALS"][_VRF]
    family = next(iter(tables["BGP_GLOBALS_AF"])).partition("|")[2]
    is_ipv6 = family == "ipv6_unicast"
    ip = "ipv6" if is_ipv6 else "ip"
    return FrrFile(
        hostname=tables["DEVICE_METADATA"]["localhost"]["hostname"],
        ip=ip,
        family="ipv6" if is_ipv6 else "ipv4",
        asn=process["local_asn"],
        router_id=process["router_id"],
        restart_s=process["gr_restart_time"],
        paths=tables["BGP_GLOBALS_AF"][f"{_VRF}|{family}"]["max_ebgp_paths"],
        discards=tuple(_discards(tables.get("STATIC_ROUTE", {}))),
        networks=tuple(key.rpartition("|")[2] for key in tables.get("BGP_GLOBALS_AF_NETWORK", {})),
        prefix_lists=tuple(_prefix_line(key, row) for key, row in tables["PREFIX"].items()),
        community_lists=tuple(_community_lines(tables["COMMUNITY_SET"])),
        terms=tuple(_term(key, row, ip) for key, row in tables["ROUTE_MAP"].items()),
        groups=tuple(_group(key, row, tables, family) for key, row in tables["BGP_PEER_GROUP"].items()),
        neighbours=tuple(_neighbour(key, row) for key, row in tables["BGP_NEIGHBOR"].items()),
    )


def _community_lines(sets: Mapping[str, Any]) -> Iterator[str]:
    """A line for each member of each community list."""
    for name, row in sets.items():
        for member in row["community_member"]:
            yield f"{name} {row['action']} {member}"


def _discards(rows: Mapping[str, Any]) -> Iterator[str]:
    """The prefixes of the default VRF's discard routes."""
    for key, row in rows.items():
        vrf, _, prefix = key.rpartition("|")
        if vrf == _VRF and row.get("blackhole") == "true":
            yield prefix


def _prefix_line(key: str, row: Mapping[str, str]) -> str:
    """A row of PREFIX, with a range from the length of the prefix itself."""
    name, number, prefix, lengths = key.split("|")
    line = f"{name} seq {number} {row['action']} {prefix}"
    if lengths == "exact":
        return line
    longest = lengths.rpartition("..")[2]
    return f"{line} le {longest}"


def _term(key: str, row: Mapping[str, Any], ip: str) -> FrrTerm:
    name, _, number = key.partition("|")
    clauses = []
    if "match_community" in row:
        clauses.append(f"match community {row['match_community']}")
    if "match_prefix_set" in row:
        clauses.append(f"match {ip} address prefix-list {row['match_prefix_set']}")
    if "set_community_inline" in row:
        clauses.append(f"set community {' '.join(row['set_community_inline'])}")
    return FrrTerm(name=name, action=row["route_operation"], number=int(number), clauses=tuple(clauses))


def _group(key: str, row: Mapping[str, str], tables: Tables, family: str) -> FrrGroup:
    shared = tables["BGP_PEER_GROUP_AF"][f"{key}|{family}"]
    limit = [shared[field] for field in ("max_prefix_limit", "max_prefix_warning_threshold") if field in shared]
    return FrrGroup(
        name=key.rpartition("|")[2],
        keepalive_s=row["keepalive"],
        hold_time_s=row["holdtime"],
        bfd=row.get("bfd") == "true",
        limit=" ".join(limit),
        into=shared["route_map_in"][0],
        out_of=shared["route_map_out"][0],
    )


def _neighbour(key: str, row: Mapping[str, str]) -> FrrNeighbour:
    address = key.rpartition("|")[2]
    return FrrNeighbour(
        address=address,
        remote_as=row["asn"],
        group=row["peer_group_name"],
        description=row["name"],
        local=row["local_addr"],
    )
