"""Allocation files that are damaged, or say what cannot be: told at their lines, never followed in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plan.grown import DAY, allocate, data_of, write
from tests.plan.test_growing import set_count

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.plan.allocation.imported import pin
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.rules.topology import standing
from clusterwright.spec.allocated.point_to_point import read_cables
from clusterwright.spec.load import allocation_file, load_spec


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("nobody,eth8/1/1,ctsw-p00-00,Ethernet3/1/1", 'CW260 The spec has no device "nobody"'),
        ("rtsw-p00r00,eth8/1/9,ctsw-p00-00,Ethernet3/1/1", 'CW260 rtsw-p00r00, a minipack2, has no port "eth8/1/9"'),
        ("rtsw-p00r00,eth8/1/1,ctsw-p01-00,Ethernet3/1/1", "CW262 The cable of rtsw-p00r00 eth8/1/1 ends at ctsw-p01"),
        ("rtsw-p00r00,eth2/1/1,ctsw-p00-00,Ethernet3/1/1", "CW262 The plan has no cable from rtsw-p00r00 eth2/1/1"),
        ("gpu-p00r00n0,be0,gpu-p00r00n1,be0", "CW260 gpu-p00r00n0 and gpu-p00r00n1 are both nodes"),
        ("rtsw-p00r00,eth8/1/1", "CW260 The row has 2 fields"),
    ],
)
def test_a_row_that_is_no_cable_is_refused_at_its_line(row: str, said: str, tmp_path: Path) -> None:
    planned = build_plan(load_spec(write(data_of("lab-roce"), tmp_path / "cluster.yaml")))
    file = tmp_path / "as-built.csv"
    file.write_text(f"A-Node,A-Port,Z-Node,Z-Port\n{row}\n")
    with pytest.raises(SpecError) as error:
        pin(planned, read_cables(file), str(file), DAY)
    assert f"{file}:2:1: {said}" in str(error.value)


FAULTS = [
    ("be0..7: rtsw-p00r00 eth2/1/1", "be0..7: rtsw-p00r00 eth2/99/1", "CW262", "has no such port"),
    ("be0..7: rtsw-p00r00 eth2/1/1 ", "be0..7: rtsw-p00r00 ", "CW260", "go with them"),
    ("fe0: rsw-s00 eth1/2/1 @ fd00:1ab:f:4::2", "fe0: rsw-v00 eth1/9/1 @ fd00:1ab:f:4::2", "CW262", "does not join"),
    ("@ fd00:1ab:f:4::2\n", "@ fd00:1ab:f:5::77\n", "CW262", "no lower end"),
    ("as 4200100000", "as 4200099999", "CW262", "AS number"),
    ("as 4200100000", "as many", "CW260", '"many" is no number'),
    ("loopback fd00:1ab:b:ffff::1 ", "loopback fd00:99::1 ", "CW262", "is none of"),
    ("loopback fd00:1ab:b:ffff::1 ", "loopback fd00:1ab:b:ffff::2 ", "CW261", "the address fd00:1ab:b:ffff::2"),
    ("hosts fd00:1ab:b:1::/64", "hosts fd00:1ab:b:1::8/64", "CW262", "does not begin"),
    ("rtsw-p00r00: model", "rtsw p00r00: model", "CW260", "is no name"),
    ("rtsw-p00r00: model", "RTSW;reboot: model", "CW260", "is no name"),
    ("numbers 0..1 units 1 9", "numbers 0..1 units 1", "CW265", "has no room"),
    ("numbers 0..1 units 1 9", "numbers 1..2 units 1 9", "CW261", "number 2"),
    ("place 0 number 0 rack x00 unit 1 as", "place 1 number 0 rack x00 unit 1 as", "CW261", "place 1 of atsw"),
    ("version: 1", "version: 2", "CW260", "version: 1"),
    ("switches:", "<<<<<<< HEAD", "CW260", "conflict"),
    ("cables backend:", "cabels backend:", "CW260", "begins no section"),
    ("st-s00n1 bmc: mgmt-00 Ethernet10", "st-s00n1 bmc: mgmt-00 Ethernet1..0", "CW260", "does not count up"),
    ("st-s00n1 bmc: mgmt-00 Ethernet10", "st-s00n7 bmc: mgmt-00 Ethernet10", "CW264", "lacks"),
]


@pytest.mark.parametrize(("old", "new", "code", "said"), FAULTS)
def test_a_damaged_file_is_told_and_never_followed_in_silence(
    old: str, new: str, code: str, said: str, tmp_path: Path
) -> None:
    path = write(data_of("lab-roce"), tmp_path / "cluster.yaml")
    allocate(path)
    file = allocation_file(path)
    text = file.read_text()
    old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
    assert old in text
    file.write_text(text.replace(old, new, 1))
    findings = lint_path(path).findings
    found = [finding for finding in findings if finding.code == code and said in finding.message]
    assert found, [str(finding) for finding in findings]
    assert all(finding.position.line >= 1 for finding in findings)


def test_what_only_the_file_has_ports_for_is_told_and_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_plan(_: Plan) -> tuple[int, int, int]:
        where = Position("cluster.yaml", 1, 1)
        raise SpecError([Finding("CW201", Severity.ERROR, "A switch has too few ports: one needs 1.", "", where)])

    path = write(data_of("lab-roce"), tmp_path / "cluster.yaml")
    allocate(path)
    later = data_of("lab-roce")
    set_count(later, "storage", 4)
    write(later, path)
    monkeypatch.setattr(standing, "moves_unaided", no_plan)
    (findings,) = [finding for finding in lint_path(path).findings if finding.code == "CW264"]
    assert findings.message.endswith("Without the file there is no plan: A switch has too few ports: one needs 1.")


def test_two_branches_that_took_the_same_are_told_with_both_lines(tmp_path: Path) -> None:
    path = write(data_of("lab-roce"), tmp_path / "cluster.yaml")
    allocate(path)
    file = allocation_file(path)
    lines = file.read_text().split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("  st-s00n1 bmc: "))
    lines.insert(at + 1, lines[at].replace("st-s00n1", "st-s00n2"))
    file.write_text("\n".join(lines))
    (port, address) = [finding for finding in lint_path(path).findings if finding.code == "CW261"]
    assert port.message == f"Line {at + 1} and line {at + 2} both give mgmt-00 Ethernet10 away."
    assert address.position.line == at + 2
