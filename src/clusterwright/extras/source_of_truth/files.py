"""Rows as import files of a server: CSV, a table a file, numbered in the order of import."""

from __future__ import annotations

import csv
import io
import re
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from clusterwright.extras.source_of_truth.rows import PLACEHOLDERS
from clusterwright.finding import ClusterwrightError
from clusterwright.spec.text.formulas import FORMULA_STARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.rows import KeptTable, PatternRow, RowPattern, Values

    Computed = Mapping[str, Callable[[Values], str]]
_AT_A_TIME = 4096
_is_plain = re.compile(r"([A-Za-z0-9][A-Za-z0-9.:/_-]*)?").fullmatch  # neither CSV nor JSON quotes or escapes these
_PLACEHOLDER = re.compile(f"([{PLACEHOLDERS[0]}-\ufdef])")


def table_files(
    listing: Listing,
    tables: Sequence[KeptTable],
    rows_by_table: Mapping[str, Callable[[Listing], Iterator[PatternRow]]],
    writers: Mapping[str, tuple[str, Callable[[Iterable[PatternRow]], Iterator[str]]]],
) -> Mapping[str, Iterator[str]]:
    """Files ``NN-TABLE.ENDING`` of the tables with rows; ``writers`` are the ending and the lines by table.

    No row is kept: each file is made while its lines are read.
    """
    files: dict[str, Iterator[str]] = {}
    for table in tables:
        if table.name in writers:
            ending, write = writers[table.name]
            rows = rows_by_table[table.name](listing)
            first = next(rows, None)
            if first is not None:
                files[f"{len(files) + 1:02}-{table.name}.{ending}"] = write(chain((first,), rows))
    return files


def csv_lines(
    columns: Sequence[str],
    cells: Callable[[RowPattern], Mapping[str, str]],
    rows: Iterable[PatternRow],
    computed: Computed = {},  # noqa: B006  # never changed
) -> Iterator[str]:
    """A table with its header. Raises ClusterwrightError for a cell with a formula."""

    def line_of(pattern: RowPattern) -> str:
        cell_by_column = cells(pattern)
        return _csv_row([cell_by_column.get(column, "") for column in columns])

    yield _csv_row(columns)
    yield from row_lines(rows, line_of, computed)


def row_lines(
    rows: Iterable[PatternRow],
    line_of: Callable[[RowPattern], str],
    computed: Computed = {},  # noqa: B006  # never changed
) -> Iterator[str]:
    """The lines of rows, some thousand at a time; ``line_of`` is called once a pattern.

    ``computed`` are further placeholders in the lines, each with its text from the values of a row.
    """
    templates: dict[RowPattern, Callable[[Values], str]] = {}
    plain_values: set[str] = set()
    lines: list[str] = []
    for pattern, values in rows:
        if not values:
            lines.append(line_of(pattern))
        elif plain_values.issuperset(values) or _are_plain(values, plain_values):
            fill = templates.get(pattern)
            if fill is None:
                fill = templates[pattern] = _template(line_of(pattern), len(values), computed)
            lines.append(fill(values))
        else:
            lines.append(line_of(pattern.filled(values)))
        if len(lines) == _AT_A_TIME:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


def _are_plain(values: Values, plain_values: set[str]) -> bool:
    """Whether all values can be inserted into a line as they are; those go into ``plain_values``."""
    for value in values:
        if value in plain_values:
            continue
        if not _is_plain(value):
            return False
        plain_values.add(value)
    return True


def _template(line: str, count: int, computed: Computed) -> Callable[[Values], str]:
    """A function from values to a line, with the values in place of the line's placeholders.

    Three special cases come before the general one: most rows have their values in order, some behind one id.
    """
    placeholders = _PLACEHOLDER.findall(line)
    template = _PLACEHOLDER.sub("%s", line.replace("%", "%%"))
    in_order = list(PLACEHOLDERS[:count])
    if placeholders == in_order:
        return template.__mod__
    if computed.keys().isdisjoint(placeholders):
        indices = [PLACEHOLDERS.index(placeholder) for placeholder in placeholders]
        if len(indices) > 1:
            select = itemgetter(*indices)
            return lambda values: template % select(values)
        return lambda values: template % tuple(values[index] for index in indices)
    if placeholders[1:] == in_order:
        first = computed[placeholders[0]]
        return lambda values: template % (first(values), *values)
    parts = [computed.get(item) or itemgetter(PLACEHOLDERS.index(item)) for item in placeholders]
    return lambda values: template % tuple([part(values) for part in parts])


def _csv_row(cells: Sequence[str]) -> str:
    # The apostrophe before formulas in our own tables would become a part of the imported value.
    for cell in cells:
        if cell[:1] in FORMULA_STARTS:
            raise ClusterwrightError(f'"{cell}" begins as a formula does, which spreadsheets run: change it.')
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
