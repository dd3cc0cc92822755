"""Tables as CSV (RFC 4180) that spreadsheets may open: a cell that one would run as a formula is text."""

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
        writer.writerow(
            [
                value
                if (kind := type(value)) is int or (kind is str and value[:1] not in FORMULA_STARTS)
                else _cell(value)
                for value in row
            ]
        )
        if number % _AT_A_TIME == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value[:1] in FORMULA_STARTS:
        return "'" + value
    return value


class TableCells(dict[str, str]):
    """Words as they stand in a table, each of them made once."""

    def __missing__(self, text: str) -> str:
        self[text] = cell = csv_row((text,)).removesuffix("\r\n")
        return cell


def csv_row(row: Iterable[Any]) -> str:
    """A row of a table with the end of its line."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(map(_cell, row))
    return text.getvalue()
