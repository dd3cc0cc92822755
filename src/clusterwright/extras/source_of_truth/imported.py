"""The other way: what a server has of planned devices, taken into the allocation file and the overlay file."""

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
from clusterwright.spec.labels.overlay import Noted, refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from clusterwright.extras.source_of_truth.difference import ServerObjects
    from clusterwright.plan.model import Plan
    from clusterwright.spec.allocated.facts import Allocated, StandingCable, StandingSwitch

FURTHER = frozenset({"serial", "asset_tag", "rack", "position", "mac_address", "wwn", "label"})
"""The fields that are read here, and need not be planned."""
_MOST_TOLD = 5
_End = tuple[str, str]


@dataclass(frozen=True)
class ServerFacts:
    """Facts of a server: rows of labels, and the place and the addresses of devices.

    ``places`` are the rack and lowest unit of a device, ``addresses`` integers by device and port; ``refused`` are
    labels that the overlay file cannot have, each with the reason.
    """

    labels: tuple[Noted, ...]
    refused: tuple[tuple[Noted, str], ...] = ()
    places: dict[str, tuple[str, float]] = field(default_factory=dict)
    addresses: dict[_End, int] = field(default_factory=dict)


def server_facts(server: ServerObjects) -> ServerFacts:
    """Facts about the planned devices and ports from a ``server`` that was read with FURTHER."""
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
            _note(rows, (row.key[0], row.key[1]), mac=mac, guid=guid if isinstance(guid, int) else None)
    for row in server.rows["cables"]:
        record = server.records["cables"].get(row.key)
        if record is not None:
            _note(rows, (row.key[0], row.key[1]), cable=record.get("label"))
    assigned = "ip-address-to-interface" if server.rows["ip-address-to-interface"] else "ip-addresses"
    addresses = {(key[2], key[3]): int(ip_interface(key[1]).ip) for key in server.records[assigned] if len(key) == 4}
    empty = dict.fromkeys(Noted._fields)
    labels = tuple(
        Noted(**{**empty, "device": end[0], "port": end[1], "line": 0, **noted}) for end, noted in rows.items()
    )
    wrong = tuple((row, why) for row in labels if (why := refused(row)))
    kept = tuple(row for row in labels if all(row is not other for other, _ in wrong))
    return ServerFacts(labels=kept, refused=wrong, places=places, addresses=addresses)


def _note(rows: dict[_End, dict[str, Any]], end: _End, **values: Any) -> None:
    present = {name: value for name, value in values.items() if value}
    if present:
        rows.setdefault(end, {}).update(present)


def merged_labels(before: tuple[Noted, ...], imported: tuple[Noted, ...]) -> tuple[Noted, ...]:
    """The rows of an overlay file merged with a server's; the server's value counts where both have one."""
    rows = {(row.device, row.port): row for row in before}
    for row in imported:
        previous = rows.get((row.device, row.port))
        present = {name: value for name, value in row._asdict().items() if value is not None and name != "line"}
        rows[row.device, row.port] = row if previous is None else previous._replace(**present)
    return tuple(rows.values())


def left_aside(plan: Plan, server: ServerObjects, facts: ServerFacts) -> Iterator[str]:
    """A line for each thing that the server has otherwise, and that is not taken: names, devices, racks."""
    for (planned,), (name,) in server.renamed.items():
        yield f"{planned} is called {name} on the server: names follow from the spec, and sync gives it that."
    absent = [row.key[0] for row in server.rows["devices"] if row.key not in server.records["devices"]]
    if absent:
        yield f"Not on the server: {and_more(absent, _MOST_TOLD)}."
    names = {row.key for row in server.rows["devices"]}
    strange = [key[0] for key in server.records["devices"] if key not in names]
    if strange:
        yield f"Not planned, and left alone: {and_more(strange, _MOST_TOLD)}."
    for row, why in facts.refused:
        yield f"The label of {row.device} {row.port or 'itself'} is not taken: {why}"
    racks = {device.rack for device in plan.devices if device.rack}
    for name, (rack, _) in facts.places.items():
        device = plan.by_name[name]
        if rack != device.rack and (device.kind != "switch" or rack not in racks):
            why = "the plan has no such rack" if rack not in racks else "a node stays in the rack of its group"
            yield f"{name} stands in {rack} on the server and in {device.rack} by the plan: {why}, so it is not moved."


def pinned(plan: Plan, facts: ServerFacts, day: date) -> tuple[Plan, Allocated]:
    """The plan with the places and addresses of devices on the server, and its allocation.

    A node stays in its group's rack: only its unit is taken. Raises ClusterwrightError for what cannot stand.
    """
    stands = record(plan, day)
    racks = {device.rack for device in plan.devices if device.rack}
    nodes = {
        name: node._replace(unit=facts.places[name][1])
        if name in facts.places and facts.places[name][0] == plan.by_name[name].rack
        else node
        for name, node in stands.nodes.items()
    }
    loopbacks = {address.device: address.port for address in own_addresses(plan) if address.side == "loopback"}
    switches = {
        name: _placed(switch, facts, racks)._replace(
            loopback=facts.addresses.get((name, loopbacks.get(name, "")), switch.loopback)
        )
        for name, switch in stands.switches.items()
    }
    cables = {
        fabric: {end: _addressed(cable, facts) for end, cable in cables.items()}
        for fabric, cables in stands.cables.items()
    }
    wanted = replace(stands, nodes=nodes, switches=switches, cables=cables, freed_ports={}, freed_addresses={})
    after = build_plan(replace(plan.spec, allocated=wanted))
    messages = [disagreement.message for disagreement in Comparison(after, wanted).disagreements]
    if messages:
        more = f" And {len(messages) - _MOST_TOLD:,} more." if len(messages) > _MOST_TOLD else ""
        raise ClusterwrightError(
            f"What the server has cannot stand by the spec: {' '.join(messages[:_MOST_TOLD])}{more}"
        )
    return after, record(after, day, plan.spec.allocated)


def _placed(switch: StandingSwitch, facts: ServerFacts, racks: set[str]) -> StandingSwitch:
    """A switch at the place that the server has for it, where the plan has that rack."""
    rack, unit = facts.places.get(switch.name, ("", 0.0))
    return switch._replace(rack=rack, unit=unit) if rack in racks else switch


def _addressed(cable: StandingCable, facts: ServerFacts) -> StandingCable:
    """A cable with the address that the server has for its lower end, where it has one on the fabric."""
    if cable.address is None:
        return cable
    return cable._replace(address=facts.addresses.get((cable.device, cable.port), cable.address))


def moved(before: Plan, after: Plan) -> Iterator[str]:
    """A line for each device that stands elsewhere by the server."""
    for device in after.devices:
        planned = before.by_name[device.name]
        if (device.rack, device.unit) != (planned.rack, planned.unit):
            yield f"{device.name}: {planned.rack} unit {planned.unit:g} → {device.rack} unit {device.unit:g}"
