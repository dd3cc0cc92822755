"""Edits of ``lint --fix``, for findings with exactly one right answer.

After every edit the text is read again: it must have the intended data, and every comment it had before. Any other edit
is discarded.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from clusterwright.finding import Amendment, Finding, Severity, SpecError
from clusterwright.rules.adding_flows import flow_of, flow_text, insertion, needed_flows
from clusterwright.rules.spec.unstated import UNSTATED
from clusterwright.spec.schema.unordered import rank
from clusterwright.spec.text.document import Document, Path
from clusterwright.spec.text.reader import parse_document

_STUB = f'assumed: "{UNSTATED}: say why, or give the source"'
_MOST = 20  # times of linting a file: after fixing a key, those below it are checked


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replacement of the characters from ``start`` to ``end`` by ``text``, and the data after it."""

    start: int
    end: int
    text: str
    data: Any


def amended(content: bytes, file: str, lint: Callable[[bytes], tuple[Finding, ...]]) -> tuple[bytes, list[Finding]]:
    """``content`` of ``file`` with every amendment of its findings by ``lint``, and these findings.

    Unreadable files, and files with line ends of two kinds, stay unchanged.
    """
    done: list[Finding] = []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content, []
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    end = "\r\n" if "\r\n" in text else "\n"
    if text.count("\r\n") not in {0, text.count("\n")}:
        return content, []
    text = text.removeprefix(mark).replace("\r\n", "\n")
    for _ in range(_MOST):
        before = len(done)
        findings = lint(_bytes(text, mark, end))
        for finding in reversed(findings):  # from below: text above keeps its place
            if finding.amendment in {None, Amendment.ADD_FLOW} or finding.position.file != file:
                continue
            if changed := _amend(text, file, finding):
                text = changed
                done.append(finding)
        if len(done) == before:  # flows come last: all other edits are done
            text, added = _with_flows(
                text, file, needed_flows(findings, file), lint=lambda now: lint(_bytes(now, mark, end))
            )
            done += added
        if len(done) == before:
            break
    return _bytes(text, mark, end), sorted(done, key=Finding.sort_key)


def _with_flows(
    text: str, file: str, wanted: list[Finding], *, lint: Callable[[str], tuple[Finding, ...]]
) -> tuple[str, list[Finding]]:
    """``text`` with the flows of the findings ``wanted``, except for flows causing an error; and the findings used."""
    while wanted:
        changed, added = text, list[Finding]()
        for finding in wanted:
            if with_flow := _amend(changed, file, finding):
                changed = with_flow
                added.append(finding)
        lines = changed.splitlines()
        wrong: set[str] = set()
        for finding in lint(changed):
            if finding.severity is Severity.ERROR and finding.position.file == file:
                wrong.add(lines[finding.position.line - 1])
        wrong_text = "\n".join(wrong)
        allowed = [finding for finding in added if flow_text(flow_of(finding)) not in wrong_text]
        if len(allowed) == len(added):
            return changed, added
        wanted = allowed
    return text, []


def _bytes(text: str, mark: str, end: str) -> bytes:
    return (mark + text.replace("\n", end)).encode("utf-8")


def _amend(text: str, file: str, finding: Finding) -> str | None:
    """``text`` with one amendment; None if it would change anything else."""
    try:
        before = parse_document(text, file)
        edit = _edit(text, before, finding)
        if edit is None:
            return None
        changed = text[: edit.start] + edit.text + text[edit.end :]
        after = parse_document(changed, file)
    except SpecError:
        return None
    kept, says = list(before.comments.values()), list(after.comments.values())
    is_kept = sorted(kept) == sorted(says) if finding.amendment is Amendment.SORT else kept == says
    return changed if is_kept and _ordered(after.data) == _ordered(edit.data) else None


def _ordered(data: Any) -> Any:
    """``data`` in a form with the order of keys, and with 1 different from true, for comparison."""
    if isinstance(data, dict):
        return [(key, _ordered(value)) for key, value in data.items()]
    return [_ordered(item) for item in data] if isinstance(data, list) else (type(data), data)


def _edit(text: str, document: Document, finding: Finding) -> _Edit | None:
    if finding.amendment is Amendment.ADD_FLOW:
        return _added_flow(text, document, flow_of(finding))
    places = document.keys if finding.amendment is Amendment.RENAME_KEY else document.values
    path = max((path for path, position in places.items() if position == finding.position), key=len, default=None)
    if path is None:
        return None
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if finding.amendment is Amendment.RENAME_KEY:
        return _renamed(text, document, root, path, finding.instead)
    if finding.amendment is Amendment.DROP_REPEATED:
        return _without_repeated(text, document, root, path)
    if finding.amendment is Amendment.SORT:
        return _sorted(text, document, root, path)
    return _with_origin(text, document, root, path)


def _added_flow(text: str, document: Document, flow: dict[str, Any]) -> _Edit | None:
    place = insertion(text, yaml.compose(text, Loader=yaml.CSafeLoader), flow)
    if place is None:
        return None
    start, end, written = place
    data = copy.deepcopy(document.data)
    data.setdefault("flows", []).append(flow)
    return _Edit(start=start, end=end, text=written, data=data)


def _node(root: Any, path: Path) -> Any:
    """The node of the value at ``path``."""
    for part in path:
        if isinstance(root, yaml.SequenceNode):
            root = root.value[int(part)]
        else:
            root = next(value for key, value in root.value if key.value == part)
    return root


def _parent(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _renamed(text: str, document: Document, root: Any, path: Path, instead: str) -> _Edit | None:
    parent, old = _node(root, path[:-1]), path[-1]
    key = next(key for key, _ in parent.value if key.value == old)
    start, end = key.start_mark.index, key.end_mark.index
    written = text[start:end]
    if written.strip("\"'") != old or instead in _parent(document.data, path[:-1]):
        return None
    data = copy.deepcopy(document.data)
    mapping = _parent(data, path[:-1])
    entries = dict(mapping)
    mapping.clear()
    for name, value in entries.items():
        mapping[instead if name == old else name] = value
    return _Edit(start=start, end=end, text=written.replace(str(old), instead), data=data)


def _without_repeated(text: str, document: Document, root: Any, path: Path) -> _Edit | None:
    """Without the last repeated item of a list."""
    node, items = _node(root, path), document.at(path)
    index = next((number for number in reversed(range(len(items))) if items[number] in items[:number]), None)
    if index is None or not isinstance(node.value[index], yaml.ScalarNode):
        return None
    item = node.value[index]
    start, end = item.start_mark.index, item.end_mark.index
    if node.flow_style:
        start = node.value[index - 1].end_mark.index
        if text[start : item.start_mark.index].strip() != ",":
            return None
    else:
        start = text.rfind("\n", 0, start) + 1
        end = text.find("\n", end) + 1 or len(text)
        if not re.fullmatch(r" *- +", text[start : item.start_mark.index]) or text[item.end_mark.index : end].strip():
            return None
    data = copy.deepcopy(document.data)
    del _parent(data, path)[index]
    return _Edit(start=start, end=end, text="", data=data)


def _sorted(text: str, document: Document, root: Any, path: Path) -> _Edit | None:
    """With the items of a list in order: within brackets their texts change places, otherwise their lines with the
    comment at the end.
    """
    node, items = _node(root, path), document.at(path)
    if not all(isinstance(item, yaml.ScalarNode) for item in node.value):
        return None
    spans = [(item.start_mark.index, item.end_mark.index) for item in node.value]
    start, end = spans[0][0], spans[-1][1]
    if node.flow_style:
        lines = range(node.start_mark.line + 1, node.end_mark.line + 1)
        if any((document.file, line) in document.comments for line in lines):
            return None
    else:
        ends = [text.find("\n", last) for _, last in spans]
        spans = [(first, last if last >= 0 else len(text)) for (first, _), last in zip(spans, ends, strict=True)]
        start, end = spans[0][0], spans[-1][1]
    order = sorted(range(len(items)), key=lambda number: rank(items[number]))
    parts: list[str] = []
    for number, (first, last) in zip(order, spans, strict=True):
        parts += [text[start:first], text[slice(*spans[number])]]
        start = last
    data = copy.deepcopy(document.data)
    _parent(data, path)[:] = [items[number] for number in order]
    return _Edit(start=spans[0][0], end=end, text="".join(parts), data=data)


def _with_origin(text: str, document: Document, root: Any, path: Path) -> _Edit | None:
    """With a mark for a missing origin of a figure; lint reports it until an author states the origin."""
    node, data = _node(root, path), copy.deepcopy(document.data)
    if not node.value:
        return None
    mapping = _parent(data, path)
    (key, stub), entries = _STUB.split(": ", 1), list(mapping.items())
    stub = stub.strip('"')
    if node.flow_style:
        end = node.value[-1][1].end_mark.index
        mapping[key] = stub
        return _Edit(start=end, end=end, text=f", {_STUB}", data=data)
    for index, (name, value) in enumerate(node.value):
        line_end = text.find("\n", value.end_mark.index)
        line_end = len(text) if line_end < 0 else line_end
        if isinstance(value, yaml.ScalarNode) and value.style not in {"|", ">"}:
            if value.start_mark.line != value.end_mark.line:
                continue
            mapping.clear()
            mapping.update([*entries[: index + 1], (key, stub), *entries[index + 1 :]])
            return _Edit(start=line_end, end=line_end, text=f"\n{' ' * name.start_mark.column}{_STUB}", data=data)
    return None
