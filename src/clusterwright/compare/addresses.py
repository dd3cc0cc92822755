"""Addresses of ports that are in both plans and change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.compare.changes import AddressChange
from clusterwright.plan.model import Interface, Plan, format_address


def address_changes(before: Plan, after: Plan, renamed: Mapping[str, str]) -> Iterator[AddressChange]:
    """Ports by fabric, device and port, in the first plan's order; ``renamed`` as in DeviceChanges."""
    now = {(port.device, port.port): port for port in _ports(after)}
    for port in _ports(before):
        name = renamed.get(port.device, port.device)
        other = now.get((name, port.port))
        if other is None or _bits(port) == _bits(other):
            continue
        yield AddressChange(port.fabric, name, port.port, _text(before, port), _text(after, other))


def _ports(plan: Plan) -> Iterator[Interface]:
    for cable in plan.cables:
        yield cable.a
        yield cable.b


def _bits(port: Interface) -> tuple[str, int | None, int, int | None]:
    return port.fabric, port.address, port.prefix_length if port.address is not None else 0, port.guid


def _text(plan: Plan, port: Interface) -> str:
    if port.address is not None:
        return f"{format_address(port.address, plan.address_version(port.fabric))}/{port.prefix_length}"
    return f"{port.guid:#018x}" if port.guid is not None else ""
