"""Addresses of ports, gateways and borders that are in both plans and change; devices tell their loopbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from clusterwright.compare.changes import AddressChange
from clusterwright.plan.model import Interface, Plan, format_address
from clusterwright.plan.own_addresses import own_addresses


def address_changes(
    before: Plan, after: Plan, renamed: Mapping[str, str], now_called: Callable[[str], str]
) -> Iterator[AddressChange]:
    """Ports by fabric, device and port, in the first plan's order; ``renamed`` as in DeviceChanges. ``now_called``
    gives the second plan's name of a fabric of the first.
    """
    now = {(each.device, each.port): each for each in _ports(after)}
    for port in _ports(before):
        name = renamed.get(port.device, port.device)
        other = now.get((name, port.port))
        if other is None or (now_called(port.fabric), port.text) == (other.fabric, other.text):
            continue
        yield AddressChange(port.fabric, name, port.port, port.text, other.text)


class _Port(NamedTuple):
    device: str
    port: str
    fabric: str
    text: str


def _ports(plan: Plan) -> Iterator[_Port]:
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            yield _Port(end.device, end.port, end.fabric, _text(plan, end))
    for own in own_addresses(plan):
        if own.side in ("gateway", "border"):
            text = f"{format_address(own.address, own.version)}/{own.prefix_length}"
            yield _Port(own.device, own.port, own.fabric, text)


def _text(plan: Plan, port: Interface) -> str:
    if port.address is not None:
        return f"{format_address(port.address, plan.address_version(port.fabric))}/{port.prefix_length}"
    return f"{port.guid:#018x}" if port.guid is not None else ""
