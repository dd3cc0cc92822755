"""Reconstruct the running files of a drifted device from the answer to a trial.

A trial answers with the lines that would change. Reverting them in the rendered file yields the running file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree, Outcome

_HUNK = re.compile(r"\s*@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines from line ``start`` on: those of the rendered file (``wanted``) and the running ones."""

    start: int
    wanted: tuple[str, ...]
    runs: tuple[str, ...]


def running_tree(wanted: DeviceTree, outcome: Outcome) -> DeviceTree:
    """The running files: those equal to the rendered ones, and those with their differing lines in the answer."""
    if not outcome.ok:
        return ()
    touched = [artifact for artifact in wanted if artifact.path in outcome.changed]
    files = [artifact for artifact in wanted if artifact.path not in outcome.changed]
    for artifact in touched:
        lines = _lines_about(artifact.path, outcome.diff, is_alone=len(touched) == 1)
        content = _undone(artifact.content.decode("utf-8", "replace"), tuple(_hunks(lines)))
        if content is not None:
            files.append(
                Artifact(
                    device=artifact.device,
                    path=artifact.path,
                    source=content.encode(),
                    kind=artifact.kind,
                    mode=artifact.mode,
                )
            )
    return tuple(files)


def _lines_about(path: str, diff: str, *, is_alone: bool) -> Iterator[str]:
    """Lines of a diff about one file; all of them if no other file differs."""
    is_about = is_alone
    for line in diff.splitlines():
        if line.startswith("--- "):
            is_about = is_alone
        elif header := re.match(r"(?:\+\+\+ /?|~ )(\S+)", line):
            is_about = is_alone or header[1] == path
        elif is_about:
            yield line


def _hunks(lines: Iterable[str]) -> Iterator[_Hunk]:
    start, indent = 0, 0
    wanted: list[str] = []
    runs: list[str] = []
    for line in (*lines, "@@ -0 +0 @@"):
        if head := _HUNK.match(line):
            if wanted or runs:
                yield _Hunk(start, tuple(wanted), tuple(runs))
            start, indent = int(head[1]), len(line) - len(line.lstrip())
            wanted, runs = [], []
        elif start:
            mark, content = line[indent : indent + 1], line[indent + 1 :]
            if mark in (" ", "+", ""):
                wanted.append(content)
            if mark in (" ", "-", ""):
                runs.append(content)


def _undone(text: str, hunks: Sequence[_Hunk]) -> str | None:
    """The text before a diff; None if its lines are neither at their line numbers nor at exactly one other place."""
    if not hunks:
        return None
    lines = text.splitlines()
    for hunk in reversed(hunks):
        length = len(hunk.wanted)
        starts = range(len(lines) - length + 1)
        matches = [start for start in starts if tuple(lines[start : start + length]) == hunk.wanted]
        if hunk.start - 1 in matches:
            matches = [hunk.start - 1]
        if len(matches) != 1:
            return None
        lines[matches[0] : matches[0] + length] = hunk.runs
    return "\n".join(lines) + "\n"
