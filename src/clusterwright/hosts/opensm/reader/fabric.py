"""Reading a fabric in the syntax of ibnetdiscover's output: switches, adapters, and links confirmed by both ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clusterwright.finding import VerifyError

Integers = NDArray[np.int64]

_GUID_LINE = re.compile(
    r"(sysimgguid|switchguid|caguid|vendid|devid)=0x([0-9a-fA-F]{1,16})(?:\([0-9a-fA-F]{1,16}\))?\s*$"
)
_NODE_LINE = re.compile(r'(Switch|Hca|Ca)\s+(\d{1,4})\s+"([SH]-[0-9a-fA-F]{16})"(?:\s+#\s*"([^"]*)".*)?$')
_PORT_LINE = re.compile(r'\[(\d{1,4})\](?:\(([0-9a-fA-F]{1,16})\))?\s+"([SH]-[0-9a-fA-F]{16})"\[(\d{1,4})\]')
_OWN_LIDS = re.compile(r"#.*?\blid (\d+) lmc (\d)\b")
_LID_RANGE = re.compile(r"0x[0-9a-fA-F]+\s+(0x[0-9a-fA-F]+)\s+(0x[0-9a-fA-F]+)\s*$")
_PORT_FACTOR = 4096  # ports of a node in one number: beyond the 254 that the architecture allows


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A line of the file in contradiction to the rest of it."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch chip; ``system`` is its system image GUID, common to the chips of a director."""

    guid: int
    system: int
    ports: int
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter with one used port: the host and the port's label from its description, the port's GUID."""

    guid: int
    host: str
    label: str
    line: int


@dataclass(frozen=True, eq=False)
class DiscoveredFabric:
    """A parsed fabric; links hold indexes into ``switches`` and ``adapters``.

    ``trunks`` are links between switches, one row each: switch, port, switch, port, line at one end, line at the other.
    ``taps`` are links of adapters: adapter, switch, switch port, line at the adapter, line at the switch.
    """

    switches: tuple[Switch, ...]
    adapters: tuple[Adapter, ...]
    trunks: Integers
    taps: Integers
    faults: tuple[Contradiction, ...]

    def trunk_name(self, row: int) -> str:
        """The cable of a trunk, as ``leaf-00 port 9 – spine-00 port 1``."""
        one, one_port, other, other_port = (int(value) for value in self.trunks[row, :4])
        return f"{self.switches[one].name} port {one_port} – {self.switches[other].name} port {other_port}"

    def tap_name(self, row: int) -> str:
        """The cable of a tap, as ``gpu-0 be3 – leaf-03 port 1``."""
        adapter, switch, port = (int(value) for value in self.taps[row, :3])
        end = self.adapters[adapter]
        return f"{end.host} {end.label} – {self.switches[switch].name} port {port}".replace("  ", " ")


@dataclass(slots=True)
class _Reading:
    """Nodes read so far, in file order, and their port lines."""

    switches: list[Switch] = field(default_factory=list)
    adapters: list[Adapter] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)  # node id to index: switches from 0, adapters from -1 down
    rows: list[tuple[int, int, str, int, int]] = field(default_factory=list)  # node, port, peer id, peer port, line
    faults: list[Contradiction] = field(default_factory=list)
    system: int = 0
    guid: int = 0
    node: int | None = None


def parse_fabric(text: str, place: str, names: dict[int, str]) -> DiscoveredFabric:
    """The fabric in ``text``; ``names`` are switch names by GUID, with precedence over the file's own.

    ``place`` names the file in errors. Raises VerifyError for a line ibnetdiscover would not write.
    """
    reading = _Reading()
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("["):
            _read_port(reading, line, number, place)
        elif line and not line.startswith("#") and not line.isspace():
            _read_node(reading, line, number, place, names)
    return _linked(reading)


def shared_lids(text: str) -> Iterator[Contradiction]:
    """LIDs of two ports each, in a fabric seen by ibnetdiscover or in opensm's ``guid2lid``.

    A planned fabric has none: the subnet manager gives them.
    """
    taken: dict[int, int] = {}
    is_switch = False
    for number, line in enumerate(text.split("\n"), 1):
        is_switch = line.startswith("Switch") or (is_switch and line.startswith("["))
        if (kept := _LID_RANGE.match(line)) is not None:
            lids = range(int(kept[1], 16), min(int(kept[2], 16), 0xFFFF) + 1)
        elif is_switch and line.startswith("["):
            continue  # the LID in a switch's port line is the peer's
        elif (match := _OWN_LIDS.search(line)) is not None:
            lids = range(int(match[1]), int(match[1]) + (1 << int(match[2])))
        else:
            continue
        shared = next((lid for lid in lids if lid and lid in taken), None)
        if shared is not None:
            yield Contradiction(number, f"LID {shared} is that of line {taken[shared]} too: packets go to either")
        taken.update(dict.fromkeys(lids, number))


def _read_node(reading: _Reading, line: str, number: int, place: str, names: dict[int, str]) -> None:
    if (match := _GUID_LINE.match(line)) is not None:
        if match[1] == "sysimgguid":
            reading.system = int(match[2], 16)
        elif match[1] in {"switchguid", "caguid"}:
            reading.guid = int(match[2], 16)
        reading.node = None
        return
    match = _NODE_LINE.match(line)
    if match is None:
        raise VerifyError(f"{place}:{number}: this is no line of ibnetdiscover's output. Render the spec again.")
    kind, ports, node_id, name = match[1], int(match[2]), match[3], match[4] or match[3]
    guid = int(node_id[2:], 16)
    if node_id in reading.index:
        reading.faults.append(Contradiction(number, f"the GUID 0x{guid:016x} is used twice"))
    if guid != reading.guid:
        reading.faults.append(
            Contradiction(number, f"{name} has GUID 0x{reading.guid:016x} on the line above, not {node_id}")
        )
    if kind == "Switch":
        reading.node = len(reading.switches)
        reading.switches.append(
            Switch(guid=guid, system=reading.system or guid, ports=ports, name=names.get(guid, name), line=number)
        )
    else:
        reading.node = -1 - len(reading.adapters)
        host, _, label = name.rpartition(" ")
        reading.adapters.append(Adapter(guid=0, host=host or label, label=label if host else "", line=number))
    reading.index[node_id] = reading.node
    reading.system = reading.guid = 0


def _read_port(reading: _Reading, line: str, number: int, place: str) -> None:
    match = _PORT_LINE.match(line)
    if match is None or reading.node is None:
        raise VerifyError(f"{place}:{number}: this is no port of a switch or an adapter. Render the spec again.")
    port, node = int(match[1]), reading.node
    if node >= 0 and not 0 < port <= reading.switches[node].ports:
        name = reading.switches[node].name
        reading.faults.append(
            Contradiction(number, f"{name} has no port {port}: it has {reading.switches[node].ports}")
        )
        return
    if node < 0 and match[2] is not None:
        last_adapter = reading.adapters[-1]
        reading.adapters[-1] = Adapter(
            guid=int(match[2], 16), host=last_adapter.host, label=last_adapter.label, line=last_adapter.line
        )
    reading.rows.append((node, port, match[3], int(match[4]), number))


def _linked(reading: _Reading) -> DiscoveredFabric:
    """Links with two ends in agreement; every other port line becomes a fault."""
    rows, faults = reading.rows, reading.faults
    missing = -(len(reading.adapters) + 1)
    near = np.array([(node, port, line) for node, port, _, _, line in rows], np.int64).reshape(-1, 3)
    far = np.array([(reading.index.get(peer, missing), port) for _, _, peer, port, _ in rows], np.int64).reshape(-1, 2)
    shift = -missing
    key = (near[:, 0] + shift) * _PORT_FACTOR + near[:, 1]
    peer = (far[:, 0] + shift) * _PORT_FACTOR + far[:, 1]
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    for position in np.flatnonzero(ordered[1:] == ordered[:-1]):
        row = order[position + 1]
        faults.append(Contradiction(int(near[row, 2]), f"{_end(reading, rows[row][0], rows[row][1])} has two cables"))
    far_row = order[np.minimum(np.searchsorted(ordered, peer), len(order) - 1)] if len(order) else order
    agreed = (key[far_row] == peer) & (peer[far_row] == key)
    for row in np.flatnonzero(~agreed):
        node, port, peer_id, peer_port, line = rows[row]
        other = reading.index.get(peer_id)
        if other is None:
            target = f"{peer_id} port {peer_port}, which is not in the file"
        else:
            target = f"{_end(reading, other, peer_port)}, which names another end"
        faults.append(Contradiction(line, f"{_end(reading, node, port)} goes to {target}"))
    first = agreed & (near[:, 0] >= 0) & (far[:, 0] >= 0) & (key < peer)
    mate = near[far_row]
    trunks = np.column_stack([near[first, :2], far[first], near[first, 2], mate[first, 2]])
    tap = agreed & (near[:, 0] < 0) & (far[:, 0] >= 0)
    taps = np.column_stack([-1 - near[tap, 0], far[tap], near[tap, 2], mate[tap, 2]])
    ordered_faults = tuple(sorted(faults, key=lambda fault: fault.line))
    return DiscoveredFabric(
        switches=tuple(reading.switches),
        adapters=tuple(reading.adapters),
        trunks=trunks,
        taps=taps,
        faults=ordered_faults,
    )


def _end(reading: _Reading, node: int, port: int) -> str:
    if node >= 0:
        return f"{reading.switches[node].name} port {port}"
    adapter = reading.adapters[-1 - node]
    return f"{adapter.host} {adapter.label}".strip()
