"""Rows as the files that a server imports: CSV, a table a file, numbered in the order in which they are taken."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.text.formulas import FORMULA_STARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clusterwright.source_of_truth.rows import Cells, KeptRow, KeptTable


def table_files(
    rows: Iterable[KeptRow],
    tables: Sequence[KeptTable],
    columns: Mapping[str, Sequence[str]],
    cells: Callable[[KeptRow], Cells],
    others: Mapping[str, tuple[str, Callable[[Iterable[KeptRow]], Iterator[str]]]],
) -> Mapping[str, Iterable[str]]:
    """``NN-TABLE.csv`` for each table with rows and ``columns``; those of ``others`` by their ending and writer."""
    by_table: dict[str, list[KeptRow]] = {}
    for row in rows:
        by_table.setdefault(row.table, []).append(row)
    names = [
        table.name for table in tables if table.name in by_table and (table.name in columns or table.name in others)
    ]
    files: dict[str, Iterable[str]] = {}
    for number, name in enumerate(names, 1):
        if name in others:
            ending, write = others[name]
            files[f"{number:02}-{name}.{ending}"] = write(by_table[name])
        else:
            files[f"{number:02}-{name}.csv"] = _lines(columns[name], map(cells, by_table[name]))
    return files


def _lines(columns: Sequence[str], rows: Iterable[Cells]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = [row.get(column, "") for column in columns]
        # An apostrophe before it, as in our own tables, would be taken as a part of the value.
        for cell in cells:
            if cell[:1] in FORMULA_STARTS:
                raise ClusterwrightError(f'"{cell}" begins as a formula does, which spreadsheets run: change it.')
        writer.writerow(cells)
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()
