"""perftest's bandwidth reports read and judged pair by pair."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.extras.bringup.matrix import Test, across, tests_of, together
from clusterwright.extras.bringup.rates import payload_rate
from clusterwright.extras.bringup.steps import AcceptanceLimits
from clusterwright.extras.bringup.traffic_steps import pair_threshold
from clusterwright.extras.bringup.unit import RDMA, unit_of
from clusterwright.extras.bringup.verdict import Judgement, Measurement, UnreadableReportError
from clusterwright.extras.bringup.ways import CabledPaths
from clusterwright.intent.node_nics import HostNic, nics_of
from clusterwright.plan.model import Plan

TOOL = "perftest"
_PAIR = re.compile(r"^# pair (\S+) (\S+) (\S+) (\S+)\s*$")
_HEADER = re.compile(r"^\s*#bytes\s+#iterations\s+BW peak\[(\S+)\]\s+BW average\[(\S+)\]")
# bytes, iterations, peak, average, message rate: `%-7lu %-10lu %-7.2lf %-7.2lf %-7.6lf` in perftest 4.5
_ROW = re.compile(r"^\s*(\d+)\s+\d+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$")
GIGABITS = "Gb/sec"

Nic = tuple[str, str]  # node, verbs device


@dataclass(frozen=True, slots=True)
class PairReport:
    """One client's result: the average over the largest messages it sent; None when it wrote no result."""

    one: Nic
    other: Nic
    average_gbps: float | None


def read_perftest(text: str, name: str) -> tuple[PairReport, ...]:
    """The pairs in the output of all clients. Raises UnreadableReportError: no pairs, or rates in another unit."""
    reports: list[PairReport] = []
    largest = -1
    for number, line in enumerate(text.splitlines(), 1):
        pair, header, row = _PAIR.match(line), _HEADER.match(line), _ROW.match(line)
        if pair is not None:
            reports.append(PairReport((pair[1], pair[2]), (pair[3], pair[4]), None))
            largest = -1
        elif header is not None and header[2] != GIGABITS:
            raise UnreadableReportError(f"{name}:{number}: rates are in {header[2]}. Run the test with --report_gbits.")
        elif row is not None and reports and int(row[1]) > largest:
            largest = int(row[1])
            reports[-1] = PairReport(reports[-1].one, reports[-1].other, float(row[2]))
    if not reports:
        raise UnreadableReportError(
            f"{name}: no line says `# pair NODE DEVICE NODE DEVICE`. Run the clients as the plan's commands do."
        )
    return tuple(reports)


def judge_bandwidth(plan: Plan, group: str | None, text: str, name: str, limits: AcceptanceLimits) -> Judgement:
    """Verdicts on every pair reported and, with a group, on every pair of its rounds that is missing.

    Raises UnreadableReportError, also for pairs that the plan does not have.
    """
    reports = read_perftest(text, name)
    ways: dict[str, CabledPaths] = {}
    verdicts = [_verdict(plan, report, name, limits, ways) for report in reports]
    measured = {frozenset((report.one, report.other)) for report in reports}
    if group is not None:
        verdicts += [
            Measurement(tool=TOOL, subject=_label(one, other), cable="", reasons=("was not measured",))
            for one, other in _expected(plan, group)
            if frozenset((one, other)) not in measured
        ]
    wrong = sum(not verdict.holds for verdict in verdicts)
    return Judgement(TOOL, f"{len(measured):,} pairs measured, {wrong:,} too slow or missing", tuple(verdicts))


def _expected(plan: Plan, group: str) -> Iterator[tuple[Nic, Nic]]:
    for unit in unit_of(plan, group):
        ways = CabledPaths(plan, unit.fabric.name)
        tests: list[Test] = []
        for one, other in chain.from_iterable(together(unit)):
            tests += tests_of(unit, ways, one, other)
        for test in chain(tests, *across(unit, ways)):
            yield (test.server, str(test.near.rdma_device)), (test.client, str(test.far.rdma_device))


def _verdict(
    plan: Plan, report: PairReport, name: str, limits: AcceptanceLimits, ways: dict[str, CabledPaths]
) -> Measurement:
    one, other = (_nic(plan, nic, name) for nic in (report.one, report.other))
    if one.fabric.name != other.fabric.name or one.rail != other.rail:
        raise UnreadableReportError(f"{name}: {_label(report.one, report.other)} are not on one rail of one fabric.")
    cables = f"{_cable(report.one[0], one)}; {_cable(report.other[0], other)}"
    label = _label(report.one, report.other)
    if report.average_gbps is None:
        return Measurement(tool=TOOL, subject=label, cable=cables, reasons=("wrote no result",))
    speed = min(_speed(plan, report.one[0], one), _speed(plan, report.other[0], other))
    if one.fabric.name not in ways:
        ways[one.fabric.name] = CabledPaths(plan, one.fabric.name)
    speed = min(speed, ways[one.fabric.name].way(one.switch, other.switch).slowest_gbps or speed)
    asked = pair_threshold(payload_rate(one.fabric, speed, one.version), limits)
    measured = f"{report.average_gbps:.2f} Gb/s"
    if report.average_gbps < asked.value:
        return Measurement(
            tool=TOOL,
            subject=label,
            cable=cables,
            reasons=(f"{measured}, at least {asked.value:g} Gb/s ({asked.formula})",),
        )
    return Measurement(tool=TOOL, subject=label, cable=cables, reasons=(), remarks=(measured,))


def _nic(plan: Plan, nic: Nic, name: str) -> HostNic:
    node, device = nic
    if node in plan.by_name:
        for host_nic in nics_of(plan, plan.by_name[node]):
            if host_nic.rdma_device == device and host_nic.fabric.technology in RDMA:
                return host_nic
    raise UnreadableReportError(f"{name}: {plan.name} has no RDMA NIC {device} in a node {node}.")


def _speed(plan: Plan, node: str, nic: HostNic) -> int:
    return next(c.speed_gbps for c in plan.cables_of[node] if c.a.device == node and c.a.port == nic.interface)


def _cable(node: str, nic: HostNic) -> str:
    return f"{node} {nic.interface} – {nic.switch} {nic.switch_port}"


def _label(one: Nic, other: Nic) -> str:
    return f"{one[0]} {one[1]} – {other[0]} {other[1]}"
