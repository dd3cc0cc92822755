"""Cables of a point-to-point list, pinned as laid, against the plan's own choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain

from clusterwright.finding import MOST_TOLD, Finding, SpecError
from clusterwright.plan.allocation.disagreement import Comparison
from clusterwright.plan.allocation.record import record
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Cable, Device, Plan
from clusterwright.spec.allocated.facts import Allocated, End, StandingCable
from clusterwright.spec.allocated.point_to_point import LaidCable, no_cable
from clusterwright.spec.allocated.reading import GIVEN_TWICE, NO_FACT
from clusterwright.spec.hardware.port_names import PortNames

CANNOT_STAND = "CW262"


@dataclass
class _Import:
    """Turns rows into cables of the plan's fabrics; ``findings`` fills up."""

    plan: Plan
    file: str
    findings: list[Finding] = field(default_factory=list)
    cables: dict[str, dict[End, StandingCable]] = field(default_factory=dict)
    _taken: dict[End, int] = field(default_factory=dict)
    _names: dict[str, PortNames] = field(default_factory=dict)
    _in_use: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, rows: Iterable[LaidCable]) -> None:
        planned = {(cable.a.device, cable.a.port): cable for cable in self.plan.cables}
        for row in rows:
            ends = self._end(row, row.a_node, row.a_port), self._end(row, row.z_node, row.z_port)
            if ends[0] is None or ends[1] is None:
                continue
            lower, upper = self._ordered(ends[0], ends[1])
            device = self.plan.by_name[upper[0]]
            if device.kind != "switch":
                self._problem(row, f"{lower[0]} and {upper[0]} are both nodes.", "Name the switch between them.")
                continue
            for end in (lower, upper):
                first = self._taken.setdefault(end, row.line)
                if first != row.line:
                    message = f"Line {first} and line {row.line} both have a cable in {end[0]} {end[1]}."
                    self._problem(row, message, "Look which of the two is in the port.", GIVEN_TWICE)
            address = self._address(planned.get(lower), upper)
            cable = StandingCable(*lower, *upper, address, row.line)
            self.cables.setdefault(device.fabric, {})[lower] = cable

    def _address(self, planned: Cable | None, upper: End) -> int | None:
        """An uplink's address stays with its lower port, a host's behind its switch."""
        if planned is None or (planned.a.side != "up" and planned.b.device != upper[0]):
            return None
        return planned.a.address

    def _ordered(self, one: End, other: End) -> tuple[End, End]:
        """The lower end and the upper one: a node is below a switch, a lower tier below a higher one.

        A management port is below the switch it is in.
        """

        def height(end: End) -> tuple[bool, bool, int]:
            device = self.plan.by_name[end[0]]
            is_managed = end[1] in self.plan.spec.catalogue[device.model].management_names
            return device.kind == "switch", not is_managed, device.tier

        return (one, other) if height(one) <= height(other) else (other, one)

    def _end(self, row: LaidCable, name: str, port: str) -> End | None:
        device = self.plan.by_name.get(name) or self.plan.by_name.get(name.lower().partition(".")[0])
        if device is None:
            self._problem(row, f'The spec has no device "{name}".', "Write the name that the inventory has.")
            return None
        port_found = self._port(device, port)
        if port_found is None:
            message = f'{device.name}, a {device.model}, has no port "{port}".'
            self._problem(row, message, "Write the port's name in the hardware catalogue.")
            return None
        return device.name, port_found

    def _port(self, device: Device, port: str) -> str | None:
        """A port under the catalogue's name."""
        if device.model not in self._names:
            self._names[device.model] = PortNames(self.plan.spec.catalogue[device.model])
        if device.name not in self._in_use:
            ends = chain.from_iterable((cable.a, cable.b) for cable in self.plan.cables_of.get(device.name, ()))
            self._in_use[device.name] = frozenset(end.port for end in ends if end.device == device.name)
        return self._names[device.model].of_list(port, self._in_use[device.name])

    def _problem(self, row: LaidCable, message: str, hint: str, code: str = NO_FACT) -> None:
        if len(self.findings) < MOST_TOLD:
            self.findings.append(no_cable(self.file, row.line, message, hint, code))


def pin(plan: Plan, rows: Iterable[LaidCable], file: str, day: date) -> Plan:
    """Rebuild a plan with the cables of a point-to-point list, and everything else as before.

    Raises SpecError, at the rows of ``file``, for impossible cables (CW260 to CW262).
    """
    work = _Import(plan, file)
    work.add(rows)
    if work.findings:
        raise SpecError(work.findings)
    before = record(plan, day)
    stands = replace(before, cables=_merged(before, work.cables), freed_ports={}, freed_addresses={})
    after = build_plan(replace(plan.spec, allocated=stands))
    laid = work.cables
    comparison = Comparison(after, replace(stands, cables=laid))
    messages = [(disagreement.line, disagreement.message) for disagreement in comparison.disagreements]
    reported_lines = {line for line, _ in messages}
    messages += [(line, message) for line, message in _elsewhere(after, laid) if line not in reported_lines]
    if messages:
        hint = "Fix the list, or the spec so that it joins these two."
        raise SpecError(
            [no_cable(file, line, message, hint, CANNOT_STAND) for line, message in sorted(messages)[:MOST_TOLD]]
        )
    return after


def _merged(before: Allocated, laid: Mapping[str, Mapping[End, StandingCable]]) -> dict[str, dict[End, StandingCable]]:
    """The list's cables, and the plan's cables without an end in the list."""
    laid_ends: set[End] = set()
    for laid_cables in laid.values():
        laid_ends.update(chain.from_iterable(map(_ends, laid_cables.values())))
    merged: dict[str, dict[End, StandingCable]] = {}
    for fabric, cables in before.cables.items():
        kept = {end: cable for end, cable in cables.items() if laid_ends.isdisjoint(_ends(cable))}
        merged[fabric] = {**laid.get(fabric, {}), **kept}
    return merged


def _elsewhere(plan: Plan, laid: Mapping[str, Mapping[End, StandingCable]]) -> list[tuple[int, str]]:
    """Rows without the same cable in the plan."""
    there = {((cable.a.device, cable.a.port), (cable.b.device, cable.b.port)) for cable in plan.cables}
    missing = []
    for cables in laid.values():
        for cable in cables.values():
            if _ends(cable) not in there:
                lower, upper = f"{cable.device} {cable.port}", f"{cable.upper} {cable.upper_port}"
                missing.append((cable.line, f"The plan has no cable from {lower} to {upper}."))
    return missing


def _ends(cable: StandingCable) -> tuple[End, End]:
    return (cable.device, cable.port), (cable.upper, cable.upper_port)
