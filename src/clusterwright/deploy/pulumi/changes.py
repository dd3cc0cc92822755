"""Changes of a device in lines of configuration."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree, Outcome
from clusterwright.known_secrets import without_secrets
from clusterwright.placeholder import PLACEHOLDER_IN_BYTES

CONTEXT_LINES = 1
SHOWN_COLUMNS = 160


def changed_lines(before: DeviceTree, after: DeviceTree) -> Iterator[str]:
    """Lines to show: each changed file with its mark (``+`` new, ``-`` removed, ``~`` changed), then its lines.

    A changed file has a unified diff without its header; a new or removed file only its length.
    """
    old = {artifact.path: artifact for artifact in before}
    new = {artifact.path: artifact for artifact in after}
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            yield f"- {path} ({_length(old[path])})"
        elif path not in old:
            yield f"+ {path} ({_length(new[path])}, mode {new[path].mode:04o})"
        else:
            yield from _changed_file(old[path], new[path])


def drift_lines(device: str, outcome: Outcome, given: DeviceTree) -> Iterator[str]:
    """Lines to show about a drifted device: its files, then the lines of each; ``-`` marks running ones.

    ``given`` is its tree with placeholders: a file with secrets may differ by a value alone.
    """
    yield f"{device}: its files differ from those deployed"
    yield from (f"  ~ {name}" for name in outcome.changed)
    for line in without_secrets(outcome.diff).splitlines():
        yield f"    {line}" if len(line) <= SHOWN_COLUMNS else f"    {line[:SHOWN_COLUMNS]}..."
    lines = (line for line in outcome.diff.splitlines() if line.strip().startswith(("-", "+")))
    shown = _secrets_in("\n".join(lines).encode())
    for item in given:
        # A file with restricted permissions is named without its lines: any secret in it may be another one.
        is_withheld = re.search(rf"^\+\+\+ \S*{re.escape(item.path)}\b.*\n(?!@@)", f"{outcome.diff}\n", re.MULTILINE)
        names = _secrets_in(item.content)
        if not is_withheld:
            names &= shown
        if names and item.path in outcome.changed:
            yield f"  {item.path} holds {', '.join(sorted(names))}: where a value was changed at its source,"
            yield "    `up` sends it; give it another `version` there, and previews see it without asking devices"


def _secrets_in(content: bytes) -> set[str]:
    return {match["name"].decode() for match in PLACEHOLDER_IN_BYTES.finditer(content)}


def bounded(lines: Iterator[str], limit: int) -> list[str]:
    """At most ``limit`` lines; the last one counts the omitted ones."""
    kept = list(lines)
    if len(kept) <= limit:
        return kept
    return [*kept[: limit - 1], f"... and {len(kept) - limit + 1} more lines"]


def _changed_file(old: Artifact, new: Artifact) -> Iterator[str]:
    if old.mode != new.mode:
        yield f"~ {new.path} (mode {old.mode:04o} -> {new.mode:04o})"
    if old.sha256 == new.sha256:
        return
    try:
        before, after = old.content.decode().splitlines(), new.content.decode().splitlines()
    except UnicodeDecodeError:
        yield f"~ {new.path} (binary, {len(old.content)} -> {len(new.content)} bytes)"
        return
    yield f"~ {new.path}"
    diff = difflib.unified_diff(before, after, lineterm="", n=CONTEXT_LINES)
    for number, line in enumerate(diff):
        if number > 1:  # the first two are the header with the file's name
            yield f"  {line}" if len(line) <= SHOWN_COLUMNS else f"  {line[:SHOWN_COLUMNS]}..."


def _length(artifact: Artifact) -> str:
    count = artifact.content.count(b"\n")
    return "1 line" if count == 1 else f"{count} lines"
