"""What a device says of its neighbours, in the forms that switches and nodes print.

EOS: ``show lldp neighbors [detail] | json``, alone or as eAPI returns it. lldpd (SONiC, FBOSS, Cumulus Linux, nodes):
``lldpcli -f json`` and ``-f json0``. NVUE: ``nv show interface lldp -o json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.text.scalars import shown

_MAC = re.compile(r"([0-9a-f]{2}[:.-]?){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Who is heard at a device's ``port``; names are "" where it gives none, as firmware of adapters does."""

    port: str
    neighbour: str
    neighbour_port: str
    description: str = ""
    """The port's description: its name where the port id is a MAC address or a number."""


def parse_neighbours(text: str, file: str) -> tuple[Neighbour, ...]:
    """The neighbours in one device's dump. Raises ClusterwrightError for anything else."""
    try:
        document = json.loads(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise ClusterwrightError(f"{file}: is not JSON: {error}. Ask for it with `| json` or `-f json`.") from None
    except RecursionError:
        raise ClusterwrightError(f"{file}: nests deeper than any list of neighbours.") from None
    try:
        return tuple(_neighbours(document))
    except _UnknownForm:
        raise ClusterwrightError(
            f'{file}: has neither "lldpNeighbors" (EOS) nor "lldp" (lldpd, NVUE) at its top'
        ) from None
    except (AttributeError, KeyError, TypeError, IndexError, StopIteration, ValueError) as error:
        raise ClusterwrightError(f"{file}: lacks what every neighbour has: {shown(str(error))}") from None


class _UnknownForm(Exception):
    """A document of another kind."""


def _neighbours(document: Any) -> Iterator[Neighbour]:
    if isinstance(document, dict) and "result" in document:
        # JSON-RPC, as eAPI answers it: a result for each command.
        document = next((part for part in document["result"] if "lldpNeighbors" in part), {})
    if not isinstance(document, dict):
        raise _UnknownForm
    if "lldpNeighbors" in document:
        yield from _eos(document["lldpNeighbors"])
    elif isinstance(document.get("lldp"), list):
        yield from _json0(document["lldp"])
    elif "lldp" in document:
        yield from _lldpd(document["lldp"])
    elif document and all(isinstance(part, dict) for part in document.values()):
        if not any("lldp" in part for part in document.values()):
            raise _UnknownForm
        yield from _nvue(document)
    else:
        raise _UnknownForm


def _eos(interfaces: Any) -> Iterator[Neighbour]:
    if isinstance(interfaces, list):
        for one in interfaces:
            yield _neighbour(one["port"], one["neighborDevice"], one["neighborPort"])
        return
    for port, detail in interfaces.items():
        for one in detail["lldpNeighborInfo"]:
            interface = one.get("neighborInterfaceInfo", {})
            identity = interface.get("interfaceId_v2", interface.get("interfaceId", ""))
            yield _neighbour(port, one.get("systemName"), identity, interface.get("interfaceDescription"))


def _lldpd(document: Any) -> Iterator[Neighbour]:
    interfaces = document.get("interface", [])
    # One interface is an object, several are a list of objects, each with its name as the only key.
    for entry in interfaces if isinstance(interfaces, list) else [interfaces]:
        for port, one in entry.items():
            chassis, port_fields = one["chassis"], one["port"]
            # A chassis that says its name has it as its key, one that does not has its fields at once.
            name = next(iter(chassis), "") if "id" not in chassis else ""
            yield _neighbour(port, name, port_fields["id"]["value"], port_fields.get("descr"))


def _json0(document: Any) -> Iterator[Neighbour]:
    """Every value is a list here, whether it is one or several."""
    for section in document:
        for interface in section.get("interface", []):
            chassis, port = interface["chassis"][0], interface["port"][0]
            yield _neighbour(
                interface["name"], _first_value(chassis, "name"), _first_value(port, "id"), _first_value(port, "descr")
            )


def _first_value(fields: Any, name: str) -> Any:
    values = fields.get(name) or [{}]
    return values[0].get("value")


def _nvue(interfaces: Any) -> Iterator[Neighbour]:
    for name, interface in interfaces.items():
        for neighbour, fields in (interface.get("lldp", {}).get("neighbor") or {}).items():
            chassis, port = fields.get("chassis", {}), fields.get("port", {})
            yield _neighbour(name, chassis.get("system-name", neighbour), port.get("name"), port.get("description"))


def _neighbour(port: Any, neighbour: Any, identity: Any, description: Any = None) -> Neighbour:
    """A neighbour of printable words. The port id is left out where it is a MAC address: the description names it."""
    if not isinstance(port, str) or not port:
        raise ValueError("a local port")
    identity = _word(identity).strip('"')
    description = _word(description)
    if not identity or _MAC.fullmatch(identity):
        identity = "" if _MAC.fullmatch(description) else description
    return Neighbour(port=shown(port), neighbour=_word(neighbour), neighbour_port=identity, description=description)


def _word(value: Any) -> str:
    return shown(value) if isinstance(value, str) else ""
