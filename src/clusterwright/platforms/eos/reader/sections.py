"""The text of an EOS configuration as every reader has it: sections at the margin with the lines below them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

PATH = "mnt/flash/startup-config"
_SECTION = re.compile(r"^([^\s!].*)\n?((?:[ \t]+.*\n?)*)", re.M)


class EosSection(NamedTuple):
    """A line at the margin, and the indented ``body`` below it as it stands there; ``line`` counts from 1."""

    line: int
    header: str
    body: str

    @property
    def word(self) -> str:
        """What the section begins with."""
        return self.header.partition(" ")[0]


@lru_cache(maxsize=1024)
def sections_of(text: str) -> tuple[EosSection, ...]:
    """All sections in their order; comments at the margin separate them."""
    found: list[EosSection] = []
    line, at = 1, 0
    for each in _SECTION.finditer(text):
        start = each.start()
        line += text.count("\n", at, start)
        at = start
        found.append(EosSection(line, each[1], each[2]))
    return tuple(found)
