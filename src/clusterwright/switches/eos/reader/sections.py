"""The text of an EOS configuration as every reader has it: sections at the margin with the lines below them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

PATH = "mnt/flash/startup-config"
_MARGIN = re.compile(r"\n(?=[^ \t\n])")

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
        """First word of the section."""
        return self.header.partition(" ")[0]

    def names(self, command: str) -> str:
        """The words after ``command`` in the first line, "" for another command's section."""
        return self.header[len(command) + 1 :] if self.header.startswith(f"{command} ") else ""


def sections_of(text: str) -> tuple[EosSection, ...]:
    """All sections in their order; comments at the margin separate them."""
    return _taken_apart(text)[0]


def has_strays(text: str) -> bool:
    """Whether a line other than a comment is outside any section: after a comment at the margin, or an empty line."""
    return _taken_apart(text)[1]


@lru_cache(maxsize=128)
def _taken_apart(text: str) -> tuple[tuple[EosSection, ...], bool]:
    sections: list[EosSection] = []
    line, start, strays, has_gaps = 1, 0, False, "\n\n" in text
    for piece in _MARGIN.split(text):
        header, _, body = piece.partition("\n")
        begin = header[:1]
        if begin == "!":
            strays = strays or bool(body.strip())
        elif not begin or begin.isspace():
            strays = strays or bool(header or body.strip())
        else:
            if body and start + len(piece) < len(text):
                body += "\n"
            if has_gaps and (body[:1] == "\n" or "\n\n" in body):
                strays, body = True, body[: f"\n{body}".index("\n\n")]
            sections.append(EosSection(line=line, start=start, header=header, body=body))
        line += piece.count("\n") + 1
        start += len(piece) + 1
    return tuple(sections), strays


@lru_cache(maxsize=128)
def sections_by_word(text: str) -> Mapping[str, tuple[EosSection, ...]]:
    """The sections by their first word."""
    sections: dict[str, list[EosSection]] = {}
    for section in sections_of(text):
        sections.setdefault(section.word, []).append(section)
    return {word: tuple(group) for word, group in sections.items()}


def sections_with(text: str, *words: str) -> Sequence[EosSection]:
    """The sections with one of these first words, in their order."""
    sections = [sections_by_word(text).get(word, ()) for word in words]
    return sections[0] if len(sections) == 1 else sorted(chain.from_iterable(sections))


def section(text: str, header: str) -> EosSection | None:
    """The section with exactly this first line; None without one."""
    return next(
        (section for section in sections_with(text, header.partition(" ")[0]) if section.header == header), None
    )


def lines_of(text: str) -> LineTree:
    """Lines below their sections' first lines, by indentation; comments, ``end`` and ``exit`` left out."""
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
