"""Parse ibnetdiscover's output: the nodes of a subnet and, from both sides, the links between them.

The format is described in ibnetdiscover(8), "Topology file format". Messages of its libraries on standard error are
understood beside the plain listing, so that ``ibnetdiscover > FILE 2>&1`` loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.finding import ClusterwrightError

# [1](port GUID)  "S-GUID"[2](port GUID)  # ... 4xHDR; "[ext 3]" follows a port of a chassis, options follow the rate
_LINK = re.compile(
    r"\[(\d+)\](?:\[[^\]]*\])*(?:\(([0-9a-fA-F]+)\))?\s+"
    r'"([SHR])-([0-9a-fA-F]+)"\[(\d+)\](?:\[[^\]]*\])*(?:\(([0-9a-fA-F]+)\))?'
    r"\s*(?:#.*?(?:\s(\d+)x([A-Z]+\d*))?(?:\s+\w=\S*)*\s*)?$"
)
_NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([SHR])-([0-9a-fA-F]+)"\s*(?:#\s*"(.*?)"(?:\s.*)?)?$')
_FIELD = re.compile(
    r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid|hcaguid)=(0x[0-9a-fA-F]+)(?:\([0-9a-fA-F]+\))?\s*$"
)
_DUPLICATE = re.compile(r"Duplicate (?:Port: Port|Node: Node) with guid (0x[0-9a-fA-F]+)")
# Messages of the libraries on standard error, and the headings of a chassis listing.
_REMARK = re.compile(
    r"ibwarn: |ibpanic: |\S*ibnetdisc\S*\.c:\d+|src/|Chassis \d|Non-Chassis Nodes|\s*$|\t*#|DR |Spine |Line "
)
_KINDS = {"S": "switch", "H": "adapter", "R": "router"}
MAX_PORT = 254  # InfiniBand architecture: port numbers are 8 bits, 255 is reserved


@dataclass(frozen=True, slots=True)
class ReportedNode:
    """A node of a listing: ``kind`` is ``switch``, ``adapter`` or ``router``.

    ``vendor`` is its 24-bit vendor ID, 0 if it has none, ``line`` is the first line of its record, from 1.
    """

    guid: int
    kind: str
    ports: int
    description: str
    vendor: int
    line: int


class ReportedLink(NamedTuple):
    """A link reported by the node ``guid``. Port GUIDs are 0 if the listing has none (switches have one GUID).

    ``width`` is the number of lanes and ``rate`` the name of a lane's speed (``HDR``); 0 and "" when not given.
    """

    guid: int
    port: int
    port_guid: int
    peer: int
    peer_port: int
    peer_port_guid: int
    width: int
    rate: str
    line: int


@dataclass(frozen=True, slots=True)
class Scan:
    """One listing. ``duplicates`` are the GUIDs reported twice by ibnetdiscover itself."""

    file: str
    nodes: tuple[ReportedNode, ...]
    links: tuple[ReportedLink, ...]
    duplicates: tuple[int, ...]


def parse(text: str, file: str) -> Scan:
    """Parse a listing. Raises ClusterwrightError with file and line for any other text."""
    nodes: list[ReportedNode] = []
    links: list[ReportedLink] = []
    duplicates: dict[int, None] = {}
    guid = ports = vendor = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] == "[":
            match = _LINK.match(line)
            if match is None or not ports:
                raise _error(file, number, line, "a link" if ports else "a link before any node")
            link = _link(match, guid, number)
            links.append(link)
            if link.port > ports or link.peer_port > MAX_PORT:
                raise _error(file, number, line, f"a port of a node with {ports} ports")
        elif (head := _NODE.match(line)) is not None:
            ports, guid = int(head[2]), int(head[4], 16)
            if not 0 < ports <= MAX_PORT:
                raise _error(file, number, line, f"a node with 1 to {MAX_PORT} ports")
            nodes.append(
                ReportedNode(
                    guid=guid, kind=_KINDS[head[3]], ports=ports, description=head[5] or "", vendor=vendor, line=number
                )
            )
            vendor = 0
        elif (field := _FIELD.match(line)) is not None:
            vendor = int(field[2], 16) if field[1] == "vendid" else vendor
            ports = 0
        elif (duplicate := _DUPLICATE.search(line)) is not None:
            duplicates[int(duplicate[1], 16)] = None
        elif _REMARK.match(line) is None:
            raise _error(file, number, line, "a line of ibnetdiscover's listing")
    _refuse_cut(nodes, links, text, file)
    return Scan(file=file, nodes=tuple(nodes), links=tuple(links), duplicates=tuple(duplicates))


def _link(match: re.Match[str], guid: int, line: int) -> ReportedLink:
    """A link of the node ``guid``."""
    port, port_guid, _, peer, peer_port, peer_port_guid, width, rate = match.groups()
    return ReportedLink(
        guid=guid,
        port=int(port),
        port_guid=int(port_guid or "0", 16),
        peer=int(peer, 16),
        peer_port=int(peer_port),
        peer_port_guid=int(peer_port_guid or "0", 16),
        width=int(width or "0"),
        rate=rate or "",
        line=line,
    )


def _refuse_cut(nodes: Sequence[ReportedNode], links: Sequence[ReportedLink], text: str, file: str) -> None:
    """Raises ClusterwrightError for a truncated file: one without nodes, or without a linked node."""
    if not nodes:
        raise ClusterwrightError(
            f"{file}:1:1: there is no node in this file. Write it with `ibnetdiscover > FILE` on a host of the fabric."
        )
    listed = {node.guid for node in nodes}
    for link in links:
        if link.peer not in listed:
            raise _error(file, link.line, text.splitlines()[link.line - 1], "a link to a node that the file lists")


def parse_name_map(text: str, file: str) -> dict[int, str]:
    """A node-name map, ``GUID "name"`` a line: names by node GUID. Raises ClusterwrightError with file and line."""
    name_by_guid: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        entry = re.match(r'(?:0x)?([0-9a-fA-F]{1,16})\s+"([^"]*)"\s*(?:#.*)?$', stripped)
        if entry is None:
            raise _error(file, number, line, 'a line of a node-name map: 0x0002c90300a1b2c3 "leaf-00"')
        name_by_guid[int(entry[1], 16)] = entry[2]
    return name_by_guid


def _error(file: str, line: int, text: str, wanted: str) -> ClusterwrightError:
    shown = text.strip()
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return ClusterwrightError(
        f"{file}:{line}:1: {shown!a} cannot be read as {wanted}. The file was cut or edited, or another program"
        " wrote it: scan again with `ibnetdiscover > FILE`."
    )
