"""Comparing two plans, in reading order: this module compares devices and addresses."""

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


# Properties to act on. ``index``, ``position`` and ``groups`` follow from names.
FIELDS = (
    "model", "role", "rack", "unit", "pod", "zones", "image", "state", "asn", "loopback", "guid", "rank", "plane",
    "rail",
)  # fmt: skip


def device_changes(before: Plan, after: Plan) -> DeviceChanges:
    """Compare devices by name; of the others, those with the same place in the same count are the same.

    A plan's names gain a digit with the hundredth pod: the machines are the same, and so are their cables. The same
    holds for names in the second spec's ``renamed``.
    """
    old_only = [device for device in before.devices if device.name not in after.by_name]
    new_only = [device for device in after.devices if device.name not in before.by_name]
    renamed = _renamed(before, after)
    names = set(renamed.values())
    return DeviceChanges(
        added=tuple(device for device in new_only if device.name not in names),
        removed=tuple(device for device in old_only if device.name not in renamed),
        renamed=renamed,
        changed=tuple(_changed(before, after, renamed)),
    )


def _renamed(before: Plan, after: Plan) -> Mapping[str, str]:
    """Old names to new names of devices named in one plan only, by model and place in the count."""
    new_names = {seat: device.name for seat, device in _seats(after) if device.name not in before.by_name}
    renamed = {}
    for seat, device in _seats(before, Standing(after.spec, NOTHING_STANDS)):
        if device.name not in after.by_name and seat in new_names:
            renamed[device.name] = new_names[seat]
    return renamed


def _seats(plan: Plan, now: Standing | None = None) -> Iterator[tuple[tuple[object, ...], Device]]:
    """Devices with an identity besides their names: the number in their node group, or in their tier around nodes of
    one.

    ``now`` supplies the current names of node groups and fabrics.
    """
    counts: Counter[tuple[object, ...]] = Counter()
    for device in plan.devices:
        group = plan.group_by_name.get(device.group)
        group_nodes = group.node_group if group is not None else ""
        nodes, fabric = device.node_group or group_nodes, device.fabric
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
    """GUIDs of the chips inside a director; the director itself has none."""
    if old.guid is None or new.guid is None or old.model != new.model:
        return
    if after.spec.catalogue[new.model].chips is None:
        return
    for old_chip, new_chip in zip(chips_of(before, old), chips_of(after, new), strict=True):
        if old_chip.guid != new_chip.guid:
            chip_name = new_chip.name.removeprefix(new.name).strip()
            yield FieldChange(
                device=new.name,
                field=f"guid of {chip_name}",
                before=format_guid(old_chip.guid),
                after=format_guid(new_chip.guid),
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
    fabric_spec = plan.spec.fabric(fabric)
    if fabric_spec is None or fabric_spec.addressing is None:
        return 6
    return fabric_spec.addressing.hosts.version


def address_changes(
    before: Plan,
    after: Plan,
    renamed: Mapping[str, str],
    ports: Mapping[End, str],
    now_called: Callable[[str], str],
) -> Iterator[AddressChange]:
    """Changed addresses of ports of both plans, in the first plan's order.

    ``renamed`` is as in DeviceChanges, ``ports`` the result of ``ports_now``. ``now_called`` maps a fabric's name in
    the first plan to its name in the second.
    """
    new_ports = {(port.device, port.port): port for port in _ports(after)}
    for port in _ports(before):
        name = renamed.get(port.device, port.device)
        new = new_ports.get((name, ports.get((port.device, port.port), port.port)))
        if new is None or (now_called(port.fabric), port.text) == (new.fabric, new.text):
            continue
        yield AddressChange(fabric=port.fabric, device=name, port=port.port, before=port.text, after=new.text)


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
