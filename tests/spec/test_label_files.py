"""Files of labels that no program wrote: whatever stands in one is a finding at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.finding import Finding, SpecError
from clusterwright.spec.labels.guids import read_guid_file
from clusterwright.spec.labels.macs import read_macs
from clusterwright.spec.labels.overlay import read_overlay


def findings_of(kind: str, file: Path) -> list[Finding]:
    try:
        if kind == "guid":
            read_guid_file(file, str(file), ())
            return []
        _, found = read_macs(file) if kind == "mac" else read_overlay(file, str(file))
    except SpecError as error:
        return list(error.findings)
    return list(found)


@pytest.mark.parametrize("kind", ["guid", "mac", "serial"])
@pytest.mark.parametrize(
    ("row", "lines"),
    [
        ('node,fe0"x",\n', {2}),
        ("node\n", {2}),
        ("node,fe0,x\rnode,fe1,y\n", {2}),
        (f"node,fe0,{'x' * 200_000}\n", {2}),
        ("", set()),
    ],
)
def test_a_row_that_is_none_is_told_at_its_line(tmp_path: Path, kind: str, row: str, lines: set[int]) -> None:
    file = tmp_path / "labels.csv"
    file.write_bytes(f"\ufeffdevice,port,{kind}\n{row}".encode())
    findings = findings_of(kind, file)
    if kind != "serial" or '"' not in row:  # what is written about a port is the same with quotes
        assert {finding.position.line for finding in findings} == lines
    assert not any("None" in finding.message for finding in findings)


@pytest.mark.parametrize("kind", ["guid", "mac", "serial"])
@pytest.mark.parametrize("row", ['node,fe0,"0c:42:a1:5b:00:0c', 'node,"fe0"x,0c:42:a1:5b:00:0c'])
def test_a_quote_that_nobody_closed_ends_nothing(tmp_path: Path, kind: str, row: str) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(f"device,port,{kind}\n{row}\n")
    findings_of(kind, file)


def test_an_adapter_has_one_address(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("device,port,mac\nnode,fe0,0c:42:a1:5b:00:0c\nnode,fe0,0c:42:a1:5b:00:0d\n")
    (finding,) = findings_of("mac", file)
    assert (finding.code, finding.position.line, finding.message) == (
        "CW149",
        3,
        "node fe0 has an address already, on line 2.",
    )
