"""Comments of a YAML text, line by line. A parser drops them; suppressions of findings live in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def comments(text: str, opaque: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Line number, from 1, and text (without the #) of every comment in ``text``.

    ``opaque`` are the spans of quoted and block texts that hold a #, as character offsets in the order of the text.
    """
    if "#" not in text:
        return
    spans = iter([*opaque, (len(text), len(text))])
    start, end = next(spans)
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        at = line.find("#")
        while at >= 0:
            while end <= offset + at:
                start, end = next(spans)
            if start <= offset + at and not _in_block_header(text, start, offset + at):
                at = line.find("#", end - offset) if end < offset + len(line) else -1
            elif at == 0 or line[at - 1] in " \t":
                yield number, line[at + 1 :].strip()
                break
            else:
                at = line.find("#", at + 1)
        offset += len(line) + 1


def _in_block_header(text: str, start: int, at: int) -> bool:
    """Whether ``at`` lies on the line of the ``|`` or ``>`` that opens a block text: a comment may follow there."""
    return text[start] in "|>" and "\n" not in text[start:at]
