"""Reading YAML into a Document: plain data, every position and comment kept, ambiguous YAML refused.

The dialect is a strict subset of YAML 1.2's core schema. ``yes``, ``no``, ``on``, ``off``, dates and ``12:30`` are
strings; spellings with different meanings in two YAML versions (``010``, ``1_000``) are refused. Codes: CW101
(unreadable), CW102 (duplicate key), CW103 (a YAML feature outside of specs).

Comments are read line by line: a parser drops them, and suppressions of findings are comments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, cast

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.spec.text import scalars
from clusterwright.spec.text.document import Document, Path, format_path
from clusterwright.spec.text.source import FORBIDDEN_CHARACTER, read_text, refuse_characters, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yaml.error import Mark


def comments(text: str, opaque: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Line number, from 1, and text (without the #) of every comment in ``text``.

    ``opaque`` are the spans of quoted and block texts with a #, as character offsets in the order of the text.
    """
    if "#" not in text:
        return
    spans = iter([*opaque, (len(text), len(text))])
    start, end = next(spans)
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        hash_index = line.find("#")
        while hash_index >= 0:
            while end <= offset + hash_index:
                start, end = next(spans)
            if start <= offset + hash_index and not _in_block_header(text, start, offset + hash_index):
                hash_index = line.find("#", end - offset) if end < offset + len(line) else -1
            elif hash_index == 0 or line[hash_index - 1] in " \t":
                yield number, line[hash_index + 1 :].strip()
                break
            else:
                hash_index = line.find("#", hash_index + 1)
        offset += len(line) + 1


def _in_block_header(text: str, start: int, offset: int) -> bool:
    """Whether ``offset`` lies on the line of the ``|`` or ``>`` opening a block text: a comment may follow there."""
    return text[start] in "|>" and "\n" not in text[start:offset]


MAX_DEPTH = 32
MAX_NODES = 100_000
MAX_FINDINGS = 50

# libyaml's messages for the commonest mistakes, with their usual corrections.
_SYNTAX_HINTS = {
    "mapping values are not allowed in this context": 'Indent nested keys by two spaces; quote text that holds ": ".',
    "could not find expected ':'": "Write `key: value`; check the indentation and the quotes above.",
    "did not find expected key": "Indent the line like its neighbours, or close the quote above it.",
    "did not find expected '-' indicator": "Bring the list's items to one indentation.",
    "did not find expected ',' or ']'": "Close the list with `]`, with commas between its items.",
    "did not find expected ',' or '}'": "Close the mapping with `}`, with commas between its entries.",
    "found unexpected end of stream": "Close the quote that starts here.",
    "found character that cannot start any token": "Quote text that starts with a special character such as @, % or `.",
}


def read_document(path: FilePath | str) -> Document:
    """Read one YAML file. ``path`` is shown unchanged in findings.

    Raises SpecError with positioned findings (CW101, CW102, CW103) for anything but a plain YAML mapping in UTF-8 of at
    most MAX_BYTES, MAX_DEPTH levels and MAX_NODES keys and values.
    """
    return parse_document(read_text(FilePath(path), str(path)), str(path))


@lru_cache(maxsize=32)  # lint reads a file to find its kind, then again to check it; a command lints before it loads
def parse_document(text: str, file: str) -> Document:
    """The Document in ``text``; ``file`` is the name in positions. Raises SpecError as read_document does."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    refuse_characters(text, file)
    builder = _Builder(file)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        builder.findings.append(_syntax_finding(error, text, file))
    except yaml.YAMLError as error:
        builder.findings.append(unreadable(file, f"this is not YAML: {error}", "Save the file as YAML text."))
    except _StopError:
        pass  # the builder has recorded the reason
    if builder.findings:
        raise SpecError(builder.findings)
    if builder.empty:
        raise SpecError([unreadable(file, "the file is empty", "Write a spec into it, or remove the file.")])
    if not isinstance(builder.data, dict):
        raise SpecError(
            [
                unreadable(
                    file,
                    f"the top level is {scalars.describe(builder.data)}, not a mapping",
                    "Start with `key: value` lines.",
                    builder.values[()],
                )
            ]
        )
    notes = {(file, line): comment for line, comment in comments(text, builder.opaque)}
    return Document(
        file=file, data=builder.data, values=builder.values, keys=builder.keys, comments=notes, files=(file,)
    )


class _StopError(Exception):
    """Reading cannot continue; the reason is among the builder's findings."""


@dataclass(slots=True)
class _Open:
    """A mapping or sequence before its end."""

    container: dict[str, Any] | list[Any]
    path: Path
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    """Turns parser events into data and positions. Iterative, so that no nesting can exhaust the stack."""

    file: str
    data: Any = None
    empty: bool = True
    values: dict[Path, Position] = field(default_factory=dict)
    keys: dict[Path, Position] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    # Spans of quoted and block text (character offsets); a # in there starts no comment.
    opaque: list[tuple[int, int]] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)

    def take(self, event: Event) -> None:
        if isinstance(event, DocumentStartEvent):
            self._start_document(event)
        elif isinstance(event, CollectionEndEvent):
            self.open.pop()
        elif isinstance(event, NodeEvent):
            self._take_node(event)

    def _start_document(self, event: DocumentStartEvent) -> None:
        if event.version or event.tags:
            self._trick(event, "a %YAML or %TAG directive", "Remove the line.")
        if not self.empty:
            self._trick(event, "a second document in one file", "Give it a file of its own, or remove the `---` line.")
            raise _StopError

    def _take_node(self, event: NodeEvent) -> None:
        if isinstance(event, AliasEvent) or event.anchor is not None:
            what = f"an alias (*{event.anchor})" if isinstance(event, AliasEvent) else f"an anchor (&{event.anchor})"
            self._trick(
                event,
                what,
                "Write the value out; what several specs share goes into a base file named by `extends:`.",
            )
            if isinstance(event, AliasEvent):
                raise _StopError
        if isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent) and event.tag is not None:
            self._trick(event, f"a tag ({event.tag})", "Remove it; quotes make a value text.")
        if self.open and isinstance(self.open[-1].container, dict) and self.open[-1].key is None:
            self._take_key(self.open[-1], event)
        else:
            self._take_value(event)

    def _take_key(self, parent: _Open, event: NodeEvent) -> None:
        if not isinstance(event, ScalarEvent):
            self._trick(event, "a list or mapping as a key", "Use a plain word as the key.")
            raise _StopError
        name = event.value
        if not event.style and name == "<<":
            self._trick(event, "a merge key (<<)", "Write the keys out, or use `extends:` for a whole file.")
        elif not event.style and not isinstance(self._resolve(event), str):
            self._trick(event, f"a key that is not text ({name or 'empty'})", f'Write "{name}" in quotes.')
        elif FORBIDDEN_CHARACTER.search(name) or "\n" in name:
            self._trick(event, "a control character in a key", "Use a plain word as the key.")
        self._note_opaque(event)
        path = (*parent.path, name)
        position = self._position(event)
        if path in self.keys:
            first = self.keys[path].line
            self._note(
                Finding(
                    code="CW102",
                    severity=Severity.ERROR,
                    message=f'the key "{name}" is already given on line {first}, and only one of the two would count.',
                    hint="Keep one of them.",
                    position=position,
                    path=format_path(path, self.data),
                )
            )
        else:
            self.keys[path] = position
        parent.key = name

    def _take_value(self, event: NodeEvent) -> None:
        path: Path = ()
        if self.open:
            parent = self.open[-1]
            path = (*parent.path, len(parent.container) if parent.key is None else parent.key)
        value: Any
        if isinstance(event, ScalarEvent):
            value = event.value if event.style else self._resolve(event)
            if isinstance(value, str) and event.style:
                self._note_opaque(event)
                if FORBIDDEN_CHARACTER.search(value):
                    self._trick(event, "a control character in a text", "Remove the escape that makes it.")
        else:
            value = {} if isinstance(event, MappingStartEvent) else []
        self.values[path] = self._position(event)
        if len(self.values) > MAX_NODES:
            self._trick(event, f"more than {MAX_NODES} values", "State counts (`nodes: 3072`), not each thing.")
            raise _StopError
        self._attach(value)
        if not isinstance(event, ScalarEvent):
            if len(self.open) >= MAX_DEPTH:
                self._trick(event, f"nesting deeper than {MAX_DEPTH} levels", "Flatten it; no spec needs that.")
                raise _StopError
            self.open.append(_Open(value, path))

    def _attach(self, value: Any) -> None:
        if not self.open:
            self.data, self.empty = value, False
            return
        parent = self.open[-1]
        if isinstance(parent.container, list):
            parent.container.append(value)
        elif parent.key is not None:
            parent.container[parent.key] = value
            parent.key = None

    def _resolve(self, event: ScalarEvent) -> Any:
        try:
            return scalars.resolve(event.value)
        except scalars.AmbiguousScalarError as error:
            self._trick(event, error.what, error.hint)
            return event.value

    def _note_opaque(self, event: ScalarEvent) -> None:
        if event.style and "#" in event.value:
            start, end = cast("Mark", event.start_mark), cast("Mark", event.end_mark)
            self.opaque.append((start.index, end.index))

    def _trick(self, event: Event, what: str, hint: str) -> None:
        self._note(
            Finding(
                code="CW103",
                severity=Severity.ERROR,
                message=f"specs are plain YAML and do not use {what}.",
                hint=hint,
                position=self._position(event),
            )
        )

    def _note(self, finding: Finding) -> None:
        self.findings.append(finding)
        if len(self.findings) >= MAX_FINDINGS:
            raise _StopError

    def _position(self, event: Event) -> Position:
        mark = cast("Mark", event.start_mark)  # libyaml marks every event
        return Position(self.file, mark.line + 1, mark.column + 1)


def _syntax_finding(error: yaml.MarkedYAMLError, text: str, file: str) -> Finding:
    problem = error.problem or "the text breaks off"
    hint = _SYNTAX_HINTS.get(problem, "Check the indentation, the quotes and the brackets on this line and above.")
    # An open quote is reported at the end of the file, but must be closed where it starts.
    mark = error.problem_mark
    if problem == "found unexpected end of stream" and error.context_mark:
        mark = error.context_mark
    position = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file, 1, 1)
    lines = text.removesuffix("\n").split("\n")
    if position.line > len(lines):  # libyaml reports the end of the text after the last line
        position = Position(file, len(lines), len(lines[-1]) + 1)
    context = f" {error.context}" if error.context else ""
    return unreadable(file, f"this is not YAML: {problem}{context}", hint, position)
