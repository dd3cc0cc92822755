"""Parse the LLDP neighbours of a device, in the output formats of switches and nodes.

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
    """A neighbour at a device's ``port``; its names are "" if not announced, as by adapter firmware."""

    port: str
    neighbour: str
    neighbour_port: str
    description: str = ""
    """The port's description: its name where the port id is a MAC address or a number."""


def parse_neighbours(text: str, file: str) -> tuple[Neighbour, ...]:
    """The neighbours in one device's dump. Raises ClusterwrightError for any other text."""
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
        document = _eapi_result(document["result"])
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


def _eapi_result(results: Any) -> Any:
    """The result of the LLDP command in eAPI's JSON-RPC answer; {} without one."""
    for result in results:
        if "lldpNeighbors" in result:
            return result
    return {}


def _eos(interfaces: Any) -> Iterator[Neighbour]:
    if isinstance(interfaces, list):
        for entry in interfaces:
            yield _neighbour(entry["port"], entry["neighborDevice"], entry["neighborPort"])
        return
    for port, detail in interfaces.items():
        for entry in detail["lldpNeighborInfo"]:
            interface = entry.get("neighborInterfaceInfo", {})
            identity = interface.get("interfaceId_v2", interface.get("interfaceId", ""))
            yield _neighbour(port, entry.get("systemName"), identity, interface.get("interfaceDescription"))


def _lldpd(document: Any) -> Iterator[Neighbour]:
    interfaces = document.get("interface", [])
    # One interface is an object, several are a list of objects, each with its name as the only key.
    if not isinstance(interfaces, list):
        interfaces = [interfaces]
    for entry in interfaces:
        for port, neighbour in entry.items():
            chassis, port_fields = neighbour["chassis"], neighbour["port"]
            # A chassis with a name has it as its only key; one without has its fields directly.
            name = next(iter(chassis), "") if "id" not in chassis else ""
            yield _neighbour(port, name, port_fields["id"]["value"], port_fields.get("descr"))


def _json0(document: Any) -> Iterator[Neighbour]:
    """Neighbours in the format ``json0``: every value is a list, even a single one."""
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
    """A neighbour with printable names. The description replaces a port id that is a MAC address."""
    if not isinstance(port, str) or not port:
        raise ValueError("a local port")
    identity = _printable(identity).strip('"')
    description = _printable(description)
    if not identity or _MAC.fullmatch(identity):
        identity = "" if _MAC.fullmatch(description) else description
    return Neighbour(
        port=shown(port), neighbour=_printable(neighbour), neighbour_port=identity, description=description
    )


def _printable(value: Any) -> str:
    return shown(value) if isinstance(value, str) else ""
