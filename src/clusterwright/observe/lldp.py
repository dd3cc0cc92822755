"""What a device says of its neighbours: EOS's ``show lldp neighbors [detail] | json``, and lldpd's ``lldpcli -f json``.

FBOSS switches, SONiC switches and nodes run lldpd or print its form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusterwright.finding import ClusterwrightError

_MAC = re.compile(r"([0-9a-f]{2}[:.-]?){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Who is heard at a device's ``port``; ``neighbour_port`` is "" where it gives no name of its port."""

    port: str
    neighbour: str
    neighbour_port: str


def parse_neighbours(text: str, file: str) -> tuple[Neighbour, ...]:
    """The neighbours in one device's dump. Raises ClusterwrightError for anything else."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ClusterwrightError(f"{file}: is not JSON: {error}. Ask for it with `| json` or `-f json`.") from None
    try:
        if "lldpNeighbors" in document:
            return tuple(_eos(document["lldpNeighbors"]))
        if "lldp" in document:
            return tuple(_lldpd(document["lldp"]))
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise ClusterwrightError(f"{file}: lacks what every neighbour has: {error}") from None
    raise ClusterwrightError(f'{file}: has neither "lldpNeighbors" (EOS) nor "lldp" (lldpd) at its top')


def _eos(found: Any) -> Iterator[Neighbour]:
    if isinstance(found, list):
        for one in found:
            yield Neighbour(one["port"], one["neighborDevice"], _port_name(one["neighborPort"]))
        return
    for port, detail in found.items():
        for one in detail["lldpNeighborInfo"]:
            interface = one["neighborInterfaceInfo"]
            name = interface.get("interfaceId_v2", interface.get("interfaceId", ""))
            yield Neighbour(port, one["systemName"], _port_name(name, interface.get("interfaceDescription", "")))


def _lldpd(found: Any) -> Iterator[Neighbour]:
    interfaces = found.get("interface", [])
    # One interface is an object, several are a list of objects, each with its name as the only key.
    for entry in interfaces if isinstance(interfaces, list) else [interfaces]:
        for port, one in entry.items():
            chassis, said = one["chassis"], one["port"]
            # A chassis that says its name has it as its key, one that does not has its fields at once.
            name = "" if "id" in chassis else next(iter(chassis))
            kind = said["id"]["type"]
            number = "" if kind == "mac" else said["id"]["value"]
            yield Neighbour(port, name, _port_name(number, said.get("descr", "")))


def _port_name(identity: str, description: str = "") -> str:
    """The port's name as its owner calls it: the identity, or the description of a port that is known by a MAC."""
    name = identity.strip('"')
    return description if not name or _MAC.fullmatch(name) else name
