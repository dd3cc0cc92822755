"""Import from a server: data on planned devices for the allocation file and the overlay file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Any

from clusterwright.and_more import and_more
from clusterwright.extras.source_of_truth.difference import identity_of
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.allocation.disagreement import Comparison
from clusterwright.plan.allocation.record import record
from clusterwright.plan.build import build_plan
from clusterwright.plan.own_addresses import own_addresses
from clusterwright.spec.labels.guids import guid_of
from clusterwright.spec.labels.macs import mac_of
from clusterwright.spec.labels.overlay import OverlayRow, refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from clusterwright.extras.source_of_truth.difference import ServerObjects
    from clusterwright.plan.model import Plan
    from clusterwright.spec.allocated.facts import Allocated, StandingCable, StandingSwitch

FURTHER = frozenset({"serial", "asset_tag", "rack", "position", "mac_address", "wwn", "label"})
"""The fields read for an import, planned or not."""
_MOST_SHOWN = 5
_End = tuple[str, str]


@dataclass(frozen=True)
class ServerFacts:
    """Facts of a server: rows of labels, and the place and the addresses of devices.

    ``places`` are the rack and lowest unit of a device, ``addresses`` integers by device and port; ``refused`` are
    labels not allowed in the overlay file, each with the reason.
    """

    labels: tuple[OverlayRow, ...]
    refused: tuple[tuple[OverlayRow, str], ...] = ()
    places: dict[str, tuple[str, float]] = field(default_factory=dict)
    addresses: dict[_End, int] = field(default_factory=dict)


def server_facts(server: ServerObjects) -> ServerFacts:
    """Facts about the planned devices and ports on a ``server`` read with FURTHER."""
    rows: dict[_End, dict[str, Any]] = {}
    places: dict[str, tuple[str, float]] = {}
    for row in server.rows["devices"]:
        record = server.records["devices"].get(row.key)
        if record is None:
            continue
        _note(rows, (row.key[0], ""), serial=record.get("serial"), asset_tag=record.get("asset_tag"))
        rack = server.key_of("racks", identity_of(record.get("rack")))
        if rack is not None and record.get("position"):
            places[row.key[0]] = (rack[-1], float(record["position"]))
    for row in server.rows["interfaces"]:
        record = server.records["interfaces"].get(row.key)
        if record is not None:
            guid = guid_of(record["wwn"]) if record.get("wwn") else None
            mac = mac_of(str(record["mac_address"])) if record.get("mac_address") else None
            valid_guid = guid if isinstance(guid, int) else None
            _note(rows, (row.key[0], row.key[1]), mac=mac, guid=valid_guid)
    for row in server.rows["cables"]:
        record = server.records["cables"].get(row.key)
        if record is not None:
            _note(rows, (row.key[0], row.key[1]), cable=record.get("label"))
    assigned = "ip-address-to-interface" if server.rows["ip-address-to-interface"] else "ip-addresses"
    addresses = {(key[2], key[3]): int(ip_interface(key[1]).ip) for key in server.records[assigned] if len(key) == 4}
    empty_row = dict.fromkeys(OverlayRow._fields)
    labels: list[OverlayRow] = []
    refused_labels: list[tuple[OverlayRow, str]] = []
    for (device, port), values in rows.items():
        label = OverlayRow(**{**empty_row, "device": device, "port": port, "line": 0, **values})
        reason = refused(label)
        if reason:
            refused_labels.append((label, reason))
        else:
            labels.append(label)
    return ServerFacts(labels=tuple(labels), refused=tuple(refused_labels), places=places, addresses=addresses)


def _note(rows: dict[_End, dict[str, Any]], end: _End, **values: Any) -> None:
    present = {name: value for name, value in values.items() if value}
    if present:
        rows.setdefault(end, {}).update(present)


def merged_labels(before: tuple[OverlayRow, ...], imported: tuple[OverlayRow, ...]) -> tuple[OverlayRow, ...]:
    """The rows of an overlay file merged with a server's; the server's value wins."""
    rows = {(row.device, row.port): row for row in before}
    for row in imported:
        previous = rows.get((row.device, row.port))
        present = {name: value for name, value in row._asdict().items() if value is not None and name != "line"}
        rows[row.device, row.port] = row if previous is None else previous._replace(**present)
    return tuple(rows.values())


def left_aside(plan: Plan, server: ServerObjects, facts: ServerFacts) -> Iterator[str]:
    """A line for each name, device, label and rack of the server not imported."""
    for (planned,), (name,) in server.renamed.items():
        yield f"{planned} is called {name} on the server: names follow from the spec, and sync gives it that."
    absent = [row.key[0] for row in server.rows["devices"] if row.key not in server.records["devices"]]
    if absent:
        yield f"Not on the server: {and_more(absent, _MOST_SHOWN)}."
    names = {row.key for row in server.rows["devices"]}
    unplanned = [key[0] for key in server.records["devices"] if key not in names]
    if unplanned:
        yield f"Not planned, and left alone: {and_more(unplanned, _MOST_SHOWN)}."
    for row, reason in facts.refused:
        yield f"The label of {row.device} {row.port or 'itself'} is not taken: {reason}"
    racks = {device.rack for device in plan.devices if device.rack}
    for name, (rack, _) in facts.places.items():
        device = plan.by_name[name]
        if rack != device.rack and (device.kind != "switch" or rack not in racks):
            reason = "the plan has no such rack" if rack not in racks else "a node stays in the rack of its group"
            line = f"{name} stands in {rack} on the server and in {device.rack} by the plan"
            yield f"{line}: {reason}, so it is not moved."


def pinned(plan: Plan, facts: ServerFacts, day: date) -> tuple[Plan, Allocated]:
    """The plan with the places and addresses of devices on the server, and its allocation.

    A node stays in its group's rack: only its unit is imported. Raises ClusterwrightError for data against the spec.
    """
    current = record(plan, day)
    racks = {device.rack for device in plan.devices if device.rack}
    nodes = dict(current.nodes)
    for name, node in current.nodes.items():
        rack, unit = facts.places.get(name, ("", 0.0))
        if rack and rack == plan.by_name[name].rack:
            nodes[name] = node._replace(unit=unit)
    loopbacks = {address.device: address.port for address in own_addresses(plan) if address.side == "loopback"}
    switches: dict[str, StandingSwitch] = {}
    for name, switch in current.switches.items():
        loopback = facts.addresses.get((name, loopbacks.get(name, "")), switch.loopback)
        switches[name] = _placed(switch, facts, racks)._replace(loopback=loopback)
    cables: dict[str, dict[_End, StandingCable]] = {}
    for fabric, cable_by_end in current.cables.items():
        cables[fabric] = {end: _addressed(cable, facts) for end, cable in cable_by_end.items()}
    imported = replace(current, nodes=nodes, switches=switches, cables=cables, freed_ports={}, freed_addresses={})
    after = build_plan(replace(plan.spec, allocated=imported))
    messages = [disagreement.message for disagreement in Comparison(after, imported).disagreements]
    if messages:
        more = f" And {len(messages) - _MOST_SHOWN:,} more." if len(messages) > _MOST_SHOWN else ""
        raise ClusterwrightError(
            f"What the server has cannot stand by the spec: {' '.join(messages[:_MOST_SHOWN])}{more}"
        )
    return after, record(after, day, plan.spec.allocated)


def _placed(switch: StandingSwitch, facts: ServerFacts, racks: set[str]) -> StandingSwitch:
    """A switch at its place on the server, if the plan has that rack."""
    rack, unit = facts.places.get(switch.name, ("", 0.0))
    return switch._replace(rack=rack, unit=unit) if rack in racks else switch


def _addressed(cable: StandingCable, facts: ServerFacts) -> StandingCable:
    """A cable with the server's address of its lower end, if the fabric has addresses."""
    if cable.address is None:
        return cable
    return cable._replace(address=facts.addresses.get((cable.device, cable.port), cable.address))


def moved(before: Plan, after: Plan) -> Iterator[str]:
    """A line for each device with another place on the server."""
    for device in after.devices:
        planned = before.by_name[device.name]
        if (device.rack, device.unit) != (planned.rack, planned.unit):
            yield f"{device.name}: {planned.rack} unit {planned.unit:g} → {device.rack} unit {device.unit:g}"
