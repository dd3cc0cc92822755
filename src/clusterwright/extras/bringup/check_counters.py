"""Check the output of ibqueryerrors: each port with its device, port and cable in the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.extras.bringup.rates import SIDE_EFFECTS, CounterLimit, by_speed
from clusterwright.extras.bringup.steps import AcceptanceLimits
from clusterwright.extras.bringup.verdict import CheckedReport, Measurement, UnreadableReportError
from clusterwright.plan.chips import chip_ports, chips_of
from clusterwright.plan.model import Cable, Device, Plan

TOOL = "ibqueryerrors"
# infiniband-diags 44: `   GUID 0x2c1a51000000000 port 9: [LinkDownedCounter == 2]`; `port ALL` sums up a switch.
_PORT = re.compile(r"^\s+GUID 0x([0-9a-f]+) port (\d+):(.*)$")
_COUNTER = re.compile(r"\[(\w+) == (\d+)")
_CHECKED = re.compile(r"^##\s+(\d+) ports checked", re.MULTILINE)
# Data counters (--data, --counters) count traffic, not errors.
_DATA = re.compile(r"^Port(Unicast|Multicast)?(Xmit|Rcv)(Data|Pkts)$|^Port(Unicast|Multicast)(Xmit|Rcv)Pkts$")


@dataclass(frozen=True, slots=True)
class PortReport:
    """A port in the output: the node GUID of a switch chip or the port GUID of an adapter, and its counters."""

    guid: int
    port: int
    counters: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """The port at a GUID and port number; ``cable`` is None inside a director and at unused ports."""

    device: str
    label: str
    cable: Cable | None
    speed_gbps: int


def read_ibqueryerrors(text: str, name: str) -> tuple[tuple[PortReport, ...], int]:
    """The ports in the output, and the number of checked ones. Raises UnreadableReportError for a missing summary."""
    checked = _CHECKED.search(text)
    if checked is None:
        raise UnreadableReportError(
            f"{name}: has no summary of checked ports, so it is not the whole output of ibqueryerrors. Run it again."
        )
    reports = []
    for line in text.splitlines():
        match = _PORT.match(line)
        if match is not None:
            counters = tuple((counter, int(value)) for counter, value in _COUNTER.findall(match[3]))
            reports.append(PortReport(int(match[1], 16), int(match[2]), counters))
    return tuple(reports), int(checked[1])


def check_counters(plan: Plan, group: str | None, text: str, name: str, limits: AcceptanceLimits) -> CheckedReport:
    """Verdicts on the reported ports of ``group`` (None: of every InfiniBand fabric).

    ``name`` is the file's. Raises UnreadableReportError.
    """
    reports, checked = read_ibqueryerrors(text, name)
    places = dict(_every_place(plan))
    bounds = by_speed({place.speed_gbps for place in places.values()}, limits.minutes)
    verdicts = []
    outside = 0
    for report in reports:
        place = places.get((report.guid, report.port))
        if place is None:
            guid = f"{report.guid:#018x}"
            reason = (
                f"no device of the plan has a port {report.port} at GUID {guid}: an unknown device, or a stale GUID"
            )
            verdicts.append(
                Measurement(tool=TOOL, subject=f"GUID {guid} port {report.port}", cable="", reasons=(reason,))
            )
        elif group is not None and not _concerns(plan, place, group):
            outside += 1
        else:
            verdicts.append(_verdict(report, place, bounds[place.speed_gbps]))
    wrong = sum(not verdict.holds for verdict in verdicts)
    elsewhere = f"; {outside:,} more with counts lie outside {group}" if outside else ""
    return CheckedReport(TOOL, f"{checked:,} ports checked, {wrong:,} beyond limits{elsewhere}", tuple(verdicts))


def _verdict(report: PortReport, place: _Place, bounds: Mapping[str, CounterLimit]) -> Measurement:
    reasons, remarks = [], []
    for counter, value in report.counters:
        if _DATA.match(counter):
            continue
        if counter in SIDE_EFFECTS:
            remarks.append(f"{counter} {value:,}")
        elif counter not in bounds:
            reasons.append(f"{counter} is {value:,}, and there is no limit for it")
        elif value > bounds[counter].most:
            limit = bounds[counter]
            reasons.append(f"{counter} is {value:,}, at most {limit.most:,} ({limit.formula})")
    cable = place.cable
    text = f"{cable.a.device} {cable.a.port} – {cable.b.device} {cable.b.port}" if cable is not None else ""
    return Measurement(tool=TOOL, subject=place.label, cable=text, reasons=tuple(reasons), remarks=tuple(remarks))


def _concerns(plan: Plan, place: _Place, group: str) -> bool:
    names = (place.cable.a.device, place.cable.b.device) if place.cable is not None else (place.device,)
    return any(group in (plan.by_name[name].group, *plan.by_name[name].groups) for name in names)


def _cables_by_port(plan: Plan, switch: Device) -> dict[str, Cable]:
    """The cables of a switch in its own fabric, without those to the management network."""
    cables: dict[str, Cable] = {}
    for cable in plan.cables_of[switch.name]:
        if cable.fabric == switch.fabric:
            end = cable.a if cable.a.device == switch.name else cable.b
            cables[end.port] = cable
    return cables


def _every_place(plan: Plan) -> Iterator[tuple[tuple[int, int], _Place]]:
    """The port at each (GUID, port number) of every InfiniBand fabric."""
    technologies = {fabric.name: fabric.technology for fabric in plan.spec.fabrics}
    for switch in plan.devices:
        if switch.kind != "switch" or switch.guid is None or technologies.get(switch.fabric) != "infiniband":
            continue
        chips = chips_of(plan, switch)
        cables = _cables_by_port(plan, switch)
        speed = max((cable.speed_gbps for cable in cables.values()), default=0)
        for chip in chips:
            for number in range(chip.ports + 1):
                yield (
                    (chip.guid, number),
                    _Place(device=switch.name, label=f"{chip.name} port {number}", cable=None, speed_gbps=speed),
                )
        model, is_split = plan.spec.catalogue[switch.model], switch.model in plan.split_models
        for port, (index, number) in chip_ports(model, split=is_split).items():
            if port not in cables:
                continue
            cable = cables[port]
            label = f"{switch.name} {port}"
            place = _Place(device=switch.name, label=label, cable=cable, speed_gbps=cable.speed_gbps)
            yield (chips[index].guid, number), place
    for cable in plan.cables:
        if cable.a.guid is not None:
            label = f"{cable.a.device} {cable.a.port}"
            yield (
                (cable.a.guid, 1),
                _Place(device=cable.a.device, label=label, cable=cable, speed_gbps=cable.speed_gbps),
            )
