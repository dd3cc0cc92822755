"""CW196: unsorted lists in which order has no meaning; every change of them is harder to review."""

from __future__ import annotations

from collections.abc import Iterator

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
        first = next(
            (item for item, wanted in zip(items, sorted(items, key=rank), strict=True) if item != wanted), None
        )
        if first is not None and not _is_divided(document, path, len(items)):
            message = f"the order of this list means nothing, and it is not sorted: {first} stands out of its place."
            yield Problem(path, message, _HINT, amendment=Amendment.SORT)


def _is_divided(document: Document, path: Path, count: int) -> bool:
    """True if a comment stands on a line of its own between the items."""
    lines = {document.locate((*path, index)).line for index in range(count)}
    return any(
        (document.locate(path).file, line) in document.comments
        for line in range(min(lines), max(lines))
        if line not in lines
    )
