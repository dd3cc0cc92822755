"""Reading NVUE's objects line by line, in files with a name, or a name and a value, on each line.

Rendered files are of this form. Every other one is left to YAML (``yaml_text.read_yaml``), and tests compare the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.facts.router import Mark
from clusterwright.switches.nvue.reader.names import names
from clusterwright.switches.nvue.reader.objects import Object

_FIRST_LINE = "- set:"
# Text in quotes without an escape, a word, or a decimal number: every release of YAML reads them alike.
_QUOTED = r'"[ !#-\[\]-~]*"'
_PLAIN = r"[A-Za-z][A-Za-z0-9_./-]*|0|[1-9][0-9]*"
_LINE = re.compile(rf"( +)({_QUOTED}|{_PLAIN}):(?: ({_QUOTED}|{_PLAIN}|\{{\}}))?")
_LONGEST_KEY = 500  # YAML takes 1,024 characters
_DEEPEST = 50
# Words that YAML 1.1 takes for something else than text.
_NO_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


@dataclass(slots=True)
class _Level:
    """An object open for additions by the next lines."""

    node: Object
    place: tuple[str, ...]
    mark: Mark
    above: int
    """Indentation of its own name."""
    indent: int = 0
    """That of the names in it; 0 before the first of them."""


def read_lines(text: str) -> Object | None:
    """A file's settings; None for one of another form, and for one that may be refused."""
    first, *lines = text.split("\n")
    if first != _FIRST_LINE or not lines or lines.pop() != "":
        return None
    root = Object()
    levels = [_Level(root, (), (), above=0)]
    for number, line in enumerate(lines, start=2):
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        spaces, written_key, written_value = match.groups()
        level = _level_of(levels, len(spaces))
        key = _text_of(written_key)
        if level is None or not key or key in level.node.below or not _is_one_name(key, level.place):
            return None
        if len(key) > _LONGEST_KEY or len(levels) > _DEEPEST:
            return None
        mark = (*level.mark, f"\n{spaces}{written_key}:")
        node = level.node.below[key] = Object(mark, number)
        if written_value is None:
            levels.append(_Level(node, (*level.place, key), mark, above=len(spaces)))
        elif written_value != "{}":
            value = _text_of(written_value)
            if value is None:
                return None
            node.value = value
    is_complete = levels[-1].indent > 0  # the last name has something below it
    return root if is_complete else None


def _level_of(levels: list[_Level], indent: int) -> _Level | None:
    """The object around a name with this indentation; None if YAML would read something else."""
    level = levels[-1]
    if level.indent == 0:
        if indent <= level.above:
            return None  # the name above has neither a value nor anything below it
        level.indent = indent
    while level.indent > indent:
        levels.pop()
        level = levels[-1]
    return level if level.indent == indent else None


def _text_of(written: str) -> str | None:
    """The text of a key or value; None for a word other than text in YAML 1.1."""
    if written[0] == '"':
        return written[1:-1]
    return None if written.lower() in _NO_TEXT else written


def _is_one_name(key: str, place: tuple[str, ...]) -> bool:
    """Whether a key is neither a list nor a range of names."""
    try:
        return names(key, place) == [key]
    except ValueError:
        return False
