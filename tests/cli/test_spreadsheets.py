"""What a device says of itself reaches spreadsheets as text: a neighbour may call itself a formula."""

from __future__ import annotations

import csv
import io

import pytest

from clusterwright.cli.formats.differences import render_csv
from clusterwright.observe.difference import DifferenceKind, ObservedDifference, Place


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\tx", "\rx", "\nx"])
def test_a_name_that_a_spreadsheet_would_run_is_text(name: str) -> None:
    place = Place(name, name, name, 3)
    found = ObservedDifference(DifferenceKind.UNEXPECTED_LINK, place, name, place, place)
    _, row = csv.reader(io.StringIO(render_csv([found]), newline=""), strict=True)
    assert row[0] == "unexpected-link"
    assert all(cell in {f"'{name}", "3"} for cell in row[1:])
