"""CW196: unsorted lists without a meaningful order; changes of them are harder to review."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterwright.finding import Amendment, Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.schema.unordered import rank, unordered
from clusterwright.spec.text.document import Document, Path

_HINT = "Sort it, as `clusterwright lint --fix` does; or put a comment on a line of its own above a part of it."


@rule("CW196", Severity.NOTE)
def unsorted_lists(subject: Subject) -> Iterator[Problem]:
    """Unsorted lists, except those divided by comments between their lines."""
    document = subject.spec.document
    for path, items in unordered(document.data, "cluster"):
        item = _first_misplaced(items)
        if item is not None and not _is_divided(document, path, len(items)):
            message = f"the order of this list has no meaning, and it is not sorted: {item} is out of order."
            yield Problem(path, message, _HINT, amendment=Amendment.SORT)


def _first_misplaced(items: list[Any]) -> Any:
    """The first item out of order; None for a sorted list."""
    for item, sorted_item in zip(items, sorted(items, key=rank), strict=True):
        if item != sorted_item:
            return item
    return None


def _is_divided(document: Document, path: Path, count: int) -> bool:
    """True if a comment stands on a line of its own between the items."""
    file = document.locate(path).file
    item_lines = {document.locate((*path, index)).line for index in range(count)}
    for line in range(min(item_lines), max(item_lines)):
        if line not in item_lines and (file, line) in document.comments:
            return True
    return False
