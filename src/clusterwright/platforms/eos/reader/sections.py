"""The text of an EOS configuration as every reader has it: sections at the margin with the lines below them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

PATH = "mnt/flash/startup-config"
_SECTION = re.compile(r"^([^\s!].*)\n?((?:[ \t].*\n?)*)", re.M)

LineTree = dict[str, "LineTree"]


class EosSection(NamedTuple):
    """A line at the margin, and the indented ``body`` below it, its lines each with their end.

    ``line`` counts from 1, ``start`` are the characters before it.
    """

    line: int
    start: int
    header: str
    body: str

    @property
    def word(self) -> str:
        """What the section begins with."""
        return self.header.partition(" ")[0]

    def names(self, command: str) -> str:
        """What follows ``command`` in the first line, "" where the section is another one's."""
        return self.header[len(command) + 1 :] if self.header.startswith(f"{command} ") else ""


@lru_cache(maxsize=128)
def sections_of(text: str) -> tuple[EosSection, ...]:
    """All sections in their order; comments at the margin separate them."""
    found: list[EosSection] = []
    line, at = 1, 0
    for each in _SECTION.finditer(text):
        start = each.start()
        line += text.count("\n", at, start)
        at = start
        found.append(EosSection(line, start, each[1], each[2]))
    return tuple(found)


@lru_cache(maxsize=128)
def sections_by_word(text: str) -> Mapping[str, tuple[EosSection, ...]]:
    """The sections by the word that they begin with."""
    found: dict[str, list[EosSection]] = {}
    for each in sections_of(text):
        found.setdefault(each.word, []).append(each)
    return {word: tuple(own) for word, own in found.items()}


def sections_with(text: str, *words: str) -> Sequence[EosSection]:
    """The sections that begin with one of these words, in their order."""
    found = [sections_by_word(text).get(word, ()) for word in words]
    return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))


def section(text: str, header: str) -> EosSection | None:
    """The section that begins with exactly this line; None where there is none."""
    return next((each for each in sections_with(text, header.partition(" ")[0]) if each.header == header), None)


def lines_of(text: str) -> LineTree:
    """Lines below the lines that open their sections, by indentation; comments, ``end`` and ``exit`` left out."""
    root: LineTree = {}
    stack: list[tuple[int, LineTree]] = [(-1, root)]
    for line in text.splitlines():
        body = " ".join(line.split())
        if not body or body.startswith("!") or body in ("end", "exit"):
            continue
        indent = len(line) - len(line.lstrip())
        while indent <= stack[-1][0]:
            stack.pop()
        stack.append((indent, stack[-1][1].setdefault(body, {})))
    return root
