"""Check bandwidth reports of perftest, pair by pair."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.extras.bringup.matrix import Test, across, tests_of, together
from clusterwright.extras.bringup.paths import CabledPaths
from clusterwright.extras.bringup.rates import payload_rate
from clusterwright.extras.bringup.steps import AcceptanceLimits
from clusterwright.extras.bringup.traffic_steps import pair_threshold
from clusterwright.extras.bringup.unit import RDMA, unit_of
from clusterwright.extras.bringup.verdict import CheckedReport, Measurement, UnreadableReportError
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
    """One client's result: the average over its largest messages; None without a result."""

    first: Nic
    second: Nic
    average_gbps: float | None


def read_perftest(text: str, name: str) -> tuple[PairReport, ...]:
    """The pairs in the output of all clients. Raises UnreadableReportError: no pairs, or another unit."""
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
            reports[-1] = PairReport(reports[-1].first, reports[-1].second, float(row[2]))
    if not reports:
        raise UnreadableReportError(
            f"{name}: no line says `# pair NODE DEVICE NODE DEVICE`. Run the clients as the plan's commands do."
        )
    return tuple(reports)


def check_bandwidth(plan: Plan, group: str | None, text: str, name: str, limits: AcceptanceLimits) -> CheckedReport:
    """Verdicts on every reported pair and, with a group, on every missing pair of its rounds.

    Raises UnreadableReportError, also for pairs outside of the plan.
    """
    reports = read_perftest(text, name)
    paths: dict[str, CabledPaths] = {}
    verdicts = [_verdict(plan, report, name, limits, paths) for report in reports]
    measured = {frozenset((report.first, report.second)) for report in reports}
    if group is not None:
        verdicts += [
            Measurement(tool=TOOL, subject=_label(first, second), cable="", reasons=("was not measured",))
            for first, second in _expected(plan, group)
            if frozenset((first, second)) not in measured
        ]
    wrong = sum(not verdict.holds for verdict in verdicts)
    return CheckedReport(TOOL, f"{len(measured):,} pairs measured, {wrong:,} too slow or missing", tuple(verdicts))


def _expected(plan: Plan, group: str) -> Iterator[tuple[Nic, Nic]]:
    for unit in unit_of(plan, group):
        paths = CabledPaths(plan, unit.fabric.name)
        tests: list[Test] = []
        for first, second in chain.from_iterable(together(unit)):
            tests += tests_of(unit, paths, first, second)
        for test in chain(tests, *across(unit, paths)):
            yield (test.server, str(test.near.rdma_device)), (test.client, str(test.far.rdma_device))


def _verdict(
    plan: Plan, report: PairReport, name: str, limits: AcceptanceLimits, paths: dict[str, CabledPaths]
) -> Measurement:
    first, second = (_nic(plan, nic, name) for nic in (report.first, report.second))
    if first.fabric.name != second.fabric.name or first.rail != second.rail:
        raise UnreadableReportError(f"{name}: {_label(report.first, report.second)} are not on one rail of one fabric.")
    cables = f"{_cable(report.first[0], first)}; {_cable(report.second[0], second)}"
    label = _label(report.first, report.second)
    if report.average_gbps is None:
        return Measurement(tool=TOOL, subject=label, cable=cables, reasons=("wrote no result",))
    speed = min(_speed(plan, report.first[0], first), _speed(plan, report.second[0], second))
    if first.fabric.name not in paths:
        paths[first.fabric.name] = CabledPaths(plan, first.fabric.name)
    speed = min(speed, paths[first.fabric.name].path(first.switch, second.switch).slowest_gbps or speed)
    threshold = pair_threshold(payload_rate(first.fabric, speed, first.version), limits)
    measured = f"{report.average_gbps:.2f} Gb/s"
    if report.average_gbps < threshold.value:
        return Measurement(
            tool=TOOL,
            subject=label,
            cable=cables,
            reasons=(f"{measured}, at least {threshold.value:g} Gb/s ({threshold.formula})",),
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
    for cable in plan.cables_of[node]:
        if (cable.a.device, cable.a.port) == (node, nic.interface):
            return cable.speed_gbps
    raise AssertionError("every RDMA NIC has a cable")


def _cable(node: str, nic: HostNic) -> str:
    return f"{node} {nic.interface} – {nic.switch} {nic.switch_port}"


def _label(first: Nic, second: Nic) -> str:
    return f"{first[0]} {first[1]} – {second[0]} {second[1]}"
