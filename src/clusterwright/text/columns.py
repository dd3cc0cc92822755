"""Text tables with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence


def aligned_lines(rows: Sequence[Sequence[str]], *, numbers_right: bool = False) -> list[str]:
    """One line a row, each column as wide as its widest cell and two blanks from the next.

    With ``numbers_right`` all columns but the first end at the same place. All rows have the same number of cells.
    """
    widths = [0] * len(rows[0])
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))
    lines = []
    for row in rows:
        cells = []
        for column, cell in enumerate(row):
            if numbers_right and column > 0:
                cells.append(cell.rjust(widths[column]))
            else:
                cells.append(cell.ljust(widths[column]))
        lines.append("  ".join(cells).rstrip())
    return lines
