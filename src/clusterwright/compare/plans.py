"""Comparing two plans: every part of it in the order in which people should read it; here devices and addresses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from clusterwright.compare.cables import End, cable_changes, ports_now
from clusterwright.compare.changes import AddressChange, DeviceChanges, FieldChange, PlanChanges
from clusterwright.compare.isolation import isolation_changes
from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Device, Interface, Plan, format_address, format_guid
from clusterwright.plan.own_addresses import own_addresses
from clusterwright.spec.allocated.facts import NOTHING_STANDS


def compare_plans(before: Plan, after: Plan) -> PlanChanges:
    """The differences between two plans; false without any."""
    devices = device_changes(before, after)
    ports = ports_now(before, after, devices.renamed)
    fabric = Standing(after.spec, NOTHING_STANDS).fabric
    return PlanChanges(
        before=before.name,
        after=after.name,
        isolation=isolation_changes(before.spec, after.spec),
        devices=devices,
        cables=cable_changes(before, after, devices.renamed, ports, fabric),
        addresses=tuple(address_changes(before, after, devices.renamed, ports, fabric)),
    )


# Properties that people act on. ``index``, ``position`` and ``groups`` follow from names and are not told again.
FIELDS = (
    "model", "role", "rack", "unit", "pod", "zones", "image", "state", "asn", "loopback", "guid", "rank", "plane",
    "rail",
)  # fmt: skip


def device_changes(before: Plan, after: Plan) -> DeviceChanges:
    """Devices are the same when their names are; of the others those with the same place in the same count.

    A plan's names grow a digit when a hundredth pod comes: the machines are the same, and so are their cables. What the
    second spec's ``renamed`` says is the same too.
    """
    gone = [device for device in before.devices if device.name not in after.by_name]
    new = [device for device in after.devices if device.name not in before.by_name]
    renamed = _renamed(before, after)
    names = set(renamed.values())
    return DeviceChanges(
        added=tuple(device for device in new if device.name not in names),
        removed=tuple(device for device in gone if device.name not in renamed),
        renamed=renamed,
        changed=tuple(_changed(before, after, renamed)),
    )


def _renamed(before: Plan, after: Plan) -> Mapping[str, str]:
    """Old name to new name of devices whose name is in one plan only, by model and place in the count."""
    standing = Standing(after.spec, NOTHING_STANDS)
    seats = {seat: device.name for seat, device in _seats(after) if device.name not in before.by_name}
    renamed_seats = (
        (seat, device.name) for seat, device in _seats(before, standing) if device.name not in after.by_name
    )
    return {name: seats[seat] for seat, name in renamed_seats if seat in seats}


def _seats(plan: Plan, now: Standing | None = None) -> Iterator[tuple[tuple[object, ...], Device]]:
    """Devices with what tells them apart besides their names: their number in their node group, or in their tier around
    nodes of one, under the names that these have ``now``.
    """
    counts: Counter[tuple[object, ...]] = Counter()
    for device in plan.devices:
        around = plan.group_by_name.get(device.group)
        nodes, fabric = device.node_group or (around.node_group if around is not None else ""), device.fabric
        if now is not None:
            nodes, fabric = now.node_group(nodes), now.fabric(fabric)
        kind = (nodes, fabric, device.tier)
        yield (*kind, device.model, counts[kind]), device
        counts[kind] += 1


def _changed(before: Plan, after: Plan, renamed: Mapping[str, str]) -> Iterator[FieldChange]:
    for old in before.devices:
        new = after.by_name.get(renamed.get(old.name, old.name))
        if new is None:
            continue
        for field in FIELDS:
            if getattr(old, field) != getattr(new, field):
                yield FieldChange(
                    device=new.name, field=field, before=_text(before, old, field), after=_text(after, new, field)
                )
        yield from _changed_chips(before, old, after, new)


def _changed_chips(before: Plan, old: Device, after: Plan, new: Device) -> Iterator[FieldChange]:
    """GUIDs of the chips inside a director, which the director itself does not have."""
    if old.guid is None or new.guid is None or old.model != new.model:
        return
    if after.spec.catalogue[new.model].chips is None:
        return
    for was, now in zip(chips_of(before, old), chips_of(after, new), strict=True):
        if was.guid != now.guid:
            chip = now.name.removeprefix(new.name).strip()
            yield FieldChange(
                device=new.name, field=f"guid of {chip}", before=format_guid(was.guid), after=format_guid(now.guid)
            )


def _text(plan: Plan, device: Device, field: str) -> str:
    value = getattr(device, field)
    if value is None or value in ("", ()):
        return "none"
    if field == "zones":
        return ", ".join(value)
    if field == "loopback":
        return format_address(value, _loopback_version(plan, device.fabric))
    if field == "guid":
        return format_guid(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _loopback_version(plan: Plan, fabric: str) -> int:
    declared_fabric = plan.spec.fabric(fabric)
    return (
        declared_fabric.addressing.hosts.version
        if declared_fabric is not None and declared_fabric.addressing is not None
        else 6
    )


def address_changes(
    before: Plan,
    after: Plan,
    renamed: Mapping[str, str],
    ports: Mapping[End, str],
    now_called: Callable[[str], str],
) -> Iterator[AddressChange]:
    """Ports by fabric, device and port, in the first plan's order; ``renamed`` as in DeviceChanges, ``ports`` as
    ``ports_now`` gives them. ``now_called``
    gives the second plan's name of a fabric of the first.
    """
    now = {(port.device, port.port): port for port in _ports(after)}
    for port in _ports(before):
        name = renamed.get(port.device, port.device)
        other = now.get((name, ports.get((port.device, port.port), port.port)))
        if other is None or (now_called(port.fabric), port.text) == (other.fabric, other.text):
            continue
        yield AddressChange(fabric=port.fabric, device=name, port=port.port, before=port.text, after=other.text)


class _Port(NamedTuple):
    device: str
    port: str
    fabric: str
    text: str


def _ports(plan: Plan) -> Iterator[_Port]:
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            yield _Port(device=end.device, port=end.port, fabric=end.fabric, text=_address_text(plan, end))
    for address in own_addresses(plan):
        if address.side in ("gateway", "border", "ipoib"):
            text = f"{format_address(address.address, address.version)}/{address.prefix_length}"
            yield _Port(device=address.device, port=address.port, fabric=address.fabric, text=text)


def _address_text(plan: Plan, port: Interface) -> str:
    if port.address is not None:
        return f"{format_address(port.address, plan.address_version(port.fabric))}/{port.prefix_length}"
    return f"{port.guid:#018x}" if port.guid is not None else ""
