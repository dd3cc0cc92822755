"""Typing zones, flows, borders and promises."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from ipaddress import ip_address, ip_interface
from typing import Any

from clusterwright.spec.authentication import session_authentication
from clusterwright.spec.isolation import Address, AddressWithLength, Border, Flow, Promise, Zone, joined
from clusterwright.spec.reading import BAD_PREFIX, Reading
from clusterwright.spec.text.document import Path

BAD_DATE = "CW147"
_NO_ADDRESS = ip_interface("0.0.0.0/31")  # in the place of one that is refused


def zone(reading: Reading, data: Mapping[str, Any], path: Path) -> Zone:
    """One zone at ``path``."""
    return Zone(
        name=data["name"],
        kind=data.get("kind", "other"),
        isolated=data.get("isolated", False),
        nodes=tuple(data.get("nodes", ())),
        fabrics=tuple(data.get("fabrics", ())),
        prefixes=reading.networks(data, "prefixes", path),
        path=path,
    )


def flow(reading: Reading, data: Mapping[str, Any], path: Path) -> Flow:
    """One flow at ``path``."""
    return Flow(
        name=data["name"],
        source=data["from"],
        target=data["to"],
        protocol=data["protocol"],
        ports=joined(reading.ranges(data.get("ports", ()), (*path, "ports"), 65535)),
        reason=data["reason"],
        owner=data.get("owner"),
        expires=_date(reading, data["expires"], (*path, "expires")) if "expires" in data else None,
        path=path,
    )


def border(reading: Reading, data: Mapping[str, Any], path: Path) -> Border:
    """One border session at ``path``."""
    address = _interface(reading, data["address"], (*path, "address"))
    return Border(
        name=data["name"],
        device=data["device"],
        port=data["port"],
        speed_gbps=data["speed_gbps"],
        address=address or _NO_ADDRESS,
        neighbour=_neighbour(reading, data["neighbour"], address, (*path, "neighbour")),
        asn=data["asn"],
        zones=tuple(data["zones"]),
        authentication=session_authentication(data, path),
        path=path,
    )


def promise(data: Mapping[str, Any], path: Path) -> Promise:
    """One promise at ``path``."""
    return Promise(name=data["name"], promise=data["promise"], says=data["says"], path=path)


def _date(reading: Reading, text: str, path: Path) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        reading.problem(BAD_DATE, path, f'"{text}" is not a day of the calendar.', "Write it as 2026-12-31.")
        return None


def _interface(reading: Reading, text: str, path: Path) -> AddressWithLength | None:
    try:
        return ip_interface(text)
    except ValueError as error:
        reading.problem(BAD_PREFIX, path, f'"{text}" is not an address with its length: {error}.', "Write 10.0.0.0/31.")
        return None


def _neighbour(reading: Reading, text: str, own: AddressWithLength | None, path: Path) -> Address:
    """The far end of the link, which must lie in the near end's network and differ from it."""
    try:
        address = ip_address(text)
    except ValueError:
        reading.problem(BAD_PREFIX, path, f'"{text}" is not an IPv4 or IPv6 address.', "Write one such as 10.0.0.1.")
        return _NO_ADDRESS.ip
    if own is not None and (address not in own.network or address == own.ip):
        hint = f"Name the other address of {own.network}."
        reading.problem(BAD_PREFIX, path, f"{address} is not the far end of a link on which the switch is {own}.", hint)
    return address
