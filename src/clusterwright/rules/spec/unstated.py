"""CW195: generated figures without a source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Document, Path, format_path
from clusterwright.spec.text.reader import read_document

UNSTATED = "TODO"  # the beginning of a generated origin, to be replaced by an author
_ORIGINS = frozenset({"source", "assumed"})
_MESSAGE = "The source of this value is not stated yet."
_HINT = "Write the source, or why it is assumed, in the place of TODO; and correct the figures beside it."


@rule("CW195", Severity.WARNING)
def unstated_origins(subject: Subject) -> Iterator[Problem]:
    """Origins beginning with TODO, in the spec and in the files under ``hardware:``."""
    document = subject.spec.document
    for path in _unstated(document.data, ()):
        yield Problem(path, _MESSAGE, _HINT)
    for index in range(len(document.data.get("hardware", ()))):
        place = ("hardware", index)
        try:
            file = document.named_file(place)
        except SpecError:  # reported when the catalogue is loaded
            continue
        if count := len(unstated_of(file)):
            message = f"{file} has {count} figures without a stated source."
            yield Problem(place, message, f"`clusterwright lint {file}` shows them.")


def unstated_of(file: FilePath) -> tuple[Finding, ...]:
    """The findings in a catalogue file; none in an unreadable one: lint reports it."""
    try:
        return tuple(findings_of(read_document(file)))
    except SpecError:
        return ()


def findings_of(document: Document) -> Iterator[Finding]:
    """The findings in a document."""
    for path in _unstated(document.data, ()):
        position: Position = document.locate(path)
        yield Finding(
            code="CW195",
            severity=Severity.WARNING,
            message=_MESSAGE,
            hint=_HINT,
            position=position,
            path=format_path(path, document.data),
            place=path,
        )


def _unstated(data: object, path: Path) -> Iterator[Path]:
    if isinstance(data, dict):
        for key, value in data.items():
            here = (*path, key)
            if key in _ORIGINS and isinstance(value, str) and value.startswith(UNSTATED):
                yield here
            yield from _unstated(value, here)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _unstated(value, (*path, index))
