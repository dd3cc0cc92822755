"""How a page of docs reads: the length of its sentences and of its tables' rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONG_SENTENCE = 30
"""Words. Ruff's, ANTA's and Pulumi's guides have 3 to 10 % of longer ones."""
LONGEST_ROW = 160
"""Characters: more becomes a column of single words in a browser."""
MEAN_WORDS = 17
LONG_SHARE = 0.06

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ROW = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(`])")
_WORD = re.compile(r"[A-Za-z][A-Za-z'\u2019-]*|\d[\d.,]*")
_FEWEST_WORDS = 3
"""What is shorter is a label."""


@dataclass(frozen=True)
class Prose:
    """The sentences of a page, and its tables' rows, as text."""

    sentences: tuple[str, ...]
    rows: tuple[str, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The words of each sentence."""
        return tuple(_words(sentence) for sentence in self.sentences)

    @property
    def mean(self) -> float:
        """Words a sentence; 0 without any."""
        return sum(self.lengths) / len(self.lengths) if self.lengths else 0.0

    @property
    def long_sentences(self) -> tuple[str, ...]:
        """Those of more than ``LONG_SENTENCE`` words."""
        return tuple(sentence for sentence in self.sentences if _words(sentence) > LONG_SENTENCE)

    @property
    def wide_rows(self) -> tuple[str, ...]:
        """Rows of more than ``LONGEST_ROW`` characters."""
        return tuple(row for row in self.rows if len(row) > LONGEST_ROW)

    def faults(self) -> tuple[str, ...]:
        """What makes the page hard to read, in words; a page may have one long sentence whatever its length."""
        faults = []
        if self.mean > MEAN_WORDS:
            faults.append(f"{self.mean:.1f} words a sentence, where {MEAN_WORDS} are enough")
        if len(self.long_sentences) > max(1, LONG_SHARE * len(self.sentences)):
            faults += [f"a sentence of {_words(sentence)} words: {sentence}" for sentence in self.long_sentences]
        faults += [f"a row of {len(row)} characters: {row}" for row in self.wide_rows]
        return tuple(faults)


def prose_of(page: str) -> Prose:
    """The prose of a Markdown page: code, headings, comments and what a test writes are left out."""
    text = _COMMENT.sub("", _GENERATED.sub("", _FENCE.sub("", page)))
    rows = tuple(row.strip() for row in _ROW.findall(text))
    text = _HEADING.sub("", _ROW.sub("", text))
    text = _CODE.sub("CODE", _LINK.sub(r"\1", text))
    sentences = []
    for block in _BLOCK.split(text):
        paragraph = " ".join(_BULLET.sub("", block.strip()).split()).replace("**", "")
        sentences += [part for part in _SENTENCE_END.split(paragraph) if _words(part) >= _FEWEST_WORDS]
    return Prose(sentences=tuple(sentences), rows=rows)


def _words(sentence: str) -> int:
    return len(_WORD.findall(sentence))
