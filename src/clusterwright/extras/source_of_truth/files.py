"""Rows as the files that a server imports: CSV, a table a file, numbered in the order in which they are taken."""

from __future__ import annotations

import csv
import io
import re
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from clusterwright.extras.source_of_truth.rows import MARKS
from clusterwright.finding import ClusterwrightError
from clusterwright.spec.text.formulas import FORMULA_STARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.rows import KeptTable, Pattern, Told, Words

    Computed = Mapping[str, Callable[[Words], str]]
_AT_A_TIME = 4096
_is_plain = re.compile(r"([A-Za-z0-9][A-Za-z0-9.:/_-]*)?").fullmatch  # what neither CSV nor JSON writes otherwise
_A_MARK = re.compile(f"([{MARKS[0]}-\ufdef])")


def table_files(
    listing: Listing,
    tables: Sequence[KeptTable],
    rows_by_table: Mapping[str, Callable[[Listing], Iterator[Told]]],
    writers: Mapping[str, tuple[str, Callable[[Iterable[Told]], Iterator[str]]]],
) -> Mapping[str, Iterator[str]]:
    """``NN-TABLE.ENDING`` for each table that has rows and one of ``writers``, which are endings and lines by table.

    No row is kept: each file is told when its lines are asked for.
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
    cells: Callable[[Pattern], Mapping[str, str]],
    rows: Iterable[Told],
    computed: Computed = {},  # noqa: B006  # nobody changes it
) -> Iterator[str]:
    """A table with its header. Raises ClusterwrightError for a cell that a spreadsheet would run."""

    def spelled(pattern: Pattern) -> str:
        cell_by_column = cells(pattern)
        return _csv_row([cell_by_column.get(column, "") for column in columns])

    yield _csv_row(columns)
    yield from row_lines(rows, spelled, computed)


def row_lines(
    rows: Iterable[Told],
    spelled: Callable[[Pattern], str],
    computed: Computed = {},  # noqa: B006  # nobody changes it
) -> Iterator[str]:
    """The lines of rows, some thousand at a time; each pattern is ``spelled`` once.

    ``computed`` are further marks that ``spelled`` leaves, each with what stands there for the words of a row.
    """
    templates: dict[Pattern, Callable[[Words], str]] = {}
    plain: set[str] = set()
    lines: list[str] = []
    for pattern, words in rows:
        if not words:
            lines.append(spelled(pattern))
        elif plain.issuperset(words) or _are_plain(words, plain):
            filled = templates.get(pattern)
            if filled is None:
                filled = templates[pattern] = _template(spelled(pattern), len(words), computed)
            lines.append(filled(words))
        else:
            lines.append(spelled(pattern.filled(words)))
        if len(lines) == _AT_A_TIME:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


def _are_plain(words: Words, plain_words: set[str]) -> bool:
    for word in words:
        if word not in plain_words:
            if not _is_plain(word):
                return False
            plain_words.add(word)
    return True


def _template(line: str, count: int, computed: Computed) -> Callable[[Words], str]:
    """A function that puts words into the places of a line's marks."""
    marks = _A_MARK.findall(line)
    template = _A_MARK.sub("%s", line.replace("%", "%%"))
    if marks == list(MARKS[:count]):
        return template.__mod__
    if computed.keys().isdisjoint(marks):
        places = [MARKS.index(mark) for mark in marks]
        ordered = itemgetter(*places) if len(places) > 1 else lambda words: tuple(words[place] for place in places)
        return lambda words: template % ordered(words)
    if marks[1:] == list(MARKS[:count]):
        first = computed[marks[0]]
        return lambda words: template % (first(words), *words)
    parts = [computed.get(mark) or itemgetter(MARKS.index(mark)) for mark in marks]
    return lambda words: template % tuple([part(words) for part in parts])


def _csv_row(cells: Sequence[str]) -> str:
    # An apostrophe before it, as in our own tables, would be taken as a part of the value.
    for cell in cells:
        if cell[:1] in FORMULA_STARTS:
            raise ClusterwrightError(f'"{cell}" begins as a formula does, which spreadsheets run: change it.')
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
