"""Tables as CSV (RFC 4180), safe for spreadsheets: a cell with the form of a formula becomes text."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from clusterwright.spec.text.formulas import FORMULA_STARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_AT_A_TIME = 4096


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table with its header, some thousand lines at a time."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    for number, row in enumerate(rows, 1):
        writer.writerow([_cell(value) for value in row])
        if number % _AT_A_TIME == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value[:1] in FORMULA_STARTS else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


class TableCells(dict[str, str]):
    """Words as cells of a table, each made once."""

    def __missing__(self, text: str) -> str:
        self[text] = cell = csv_row((text,)).removesuffix("\r\n")
        return cell


def csv_row(row: Iterable[Any]) -> str:
    """A row of a table with the end of its line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(map(_cell, row))
    return text.getvalue()
