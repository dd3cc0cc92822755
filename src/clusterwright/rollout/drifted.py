"""Running configuration of a device that differs from its tree, as far as its answer to a trial shows.

A trial answers with the lines that would change. Taken back from the file that is wanted, they are the file that runs.
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
    """Lines of one place from line ``start`` on: those of the rendered file (``wanted``) and those that run."""

    start: int
    wanted: tuple[str, ...]
    runs: tuple[str, ...]


def running_tree(wanted: DeviceTree, outcome: Outcome) -> DeviceTree:
    """The files that run now: those that are as wanted, and those whose lines the answer names."""
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
    """The lines of a diff that are about one file; all of them where no other differs."""
    is_about = is_alone
    for line in diff.splitlines():
        if line.startswith("--- "):
            is_about = is_alone
        elif named := re.match(r"(?:\+\+\+ /?|~ )(\S+)", line):
            is_about = is_alone or named[1] == path
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
            mark, text = line[indent : indent + 1], line[indent + 1 :]
            if mark in (" ", "+", ""):
                wanted.append(text)
            if mark in (" ", "-", ""):
                runs.append(text)


def _undone(text: str, hunks: Sequence[_Hunk]) -> str | None:
    """The text before a diff; None where its lines do not stand where the diff says, or nowhere else alone."""
    if not hunks:
        return None
    lines = text.splitlines()
    for hunk in reversed(hunks):
        length = len(hunk.wanted)
        places = [at for at in range(len(lines) - length + 1) if tuple(lines[at : at + length]) == hunk.wanted]
        if hunk.start - 1 in places:
            places = [hunk.start - 1]
        if len(places) != 1:
            return None
        lines[places[0] : places[0] + length] = hunk.runs
    return "\n".join(lines) + "\n"
