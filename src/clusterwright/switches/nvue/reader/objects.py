"""NVUE's objects as they stand in a file: a tree by name, with the place of each in the text.

One key may name several interfaces (`swp1-4,6,vlan10`): each then has what stands below it. Objects that several parts
or ranges name are one, as NVUE merges them; a key that stands twice in one object is refused, and so are two
values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import yaml

from clusterwright.facts.router import Mark
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.names import names

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.A)
_MINUTES = re.compile(r"[1-9][0-9]*(:[0-5]?[0-9])+", re.A)
_KINDS = frozenset({"str", "int", "bool", "null", "float", "timestamp"})


@dataclass(slots=True)
class Object:
    """An object or a value: ``value`` is "" for one that has others below it; ``line`` counts from 1."""

    mark: Mark = ()
    line: int = 0
    value: str = ""
    below: dict[str, Object] = field(default_factory=dict)

    def at(self, *path: str) -> Object:
        """What stands at a path below this, an empty object where nothing does."""
        found = self
        for name in path:
            found = found.below.get(name, NOTHING)
        return found

    def text(self, *path: str, default: str = "") -> str:
        """The value at a path, ``default`` where there is none."""
        found = self.at(*path)
        return found.value if found.line and not found.below else default

    def number(self, *path: str, default: int = 0) -> int:
        """The value at a path as a number. Raises ValueError for one that is none."""
        return int(self.text(*path, default=str(default)))

    def is_on(self, *path: str, default: bool = False) -> bool:
        """The value at a path as a switch, in the words of the releases: on and off, enabled and disabled."""
        return self.text(*path, default="on" if default else "off") in {"on", "enable", "enabled"}

    def items(self, *path: str) -> Iterator[tuple[str, Object]]:
        """Names and objects below a path, in the order of the file."""
        yield from self.at(*path).below.items()


NOTHING = Object()


@lru_cache(maxsize=128)  # every fact of a switch is asked for by itself; nobody changes what was read
def read_objects(text: str) -> Object:
    """What a file sets. Raises Unreadable at the line that does not read."""
    try:
        return _objects(text)
    except RecursionError:
        raise Unreadable(0, "the objects stand too deep in each other") from None


def _objects(text: str) -> Object:
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        at = getattr(error, "problem_mark", None)
        raise Unreadable(0 if at is None else at.line + 1, "this is no YAML") from None
    found = Object()
    if isinstance(root, yaml.SequenceNode):
        for part in root.value:
            if not isinstance(part, yaml.MappingNode):
                raise Unreadable(part.start_mark.line + 1, "NVUE takes objects to set here")
            for key, value in part.value:
                if key.value == "set":
                    _read(found, value, text)
                elif key.value != "header":
                    raise Unreadable(key.start_mark.line + 1, f'"{key.value}" is neither `set` nor a header')
    if not found.below:
        raise Unreadable(0, "this file sets nothing")
    return found


def _read(into: Object, node: yaml.Node, text: str, place: tuple[str, ...] = (), above: Mark = ()) -> None:
    if isinstance(node, yaml.SequenceNode) or (isinstance(node, yaml.ScalarNode) and into.below):
        raise Unreadable(node.start_mark.line + 1, "an object is wanted here")
    if isinstance(node, yaml.ScalarNode):
        _must_be_plain(node, "int")
        if into.value and into.value != node.value:
            raise Unreadable(node.start_mark.line + 1, "this value is set twice")
        into.value = node.value
        return
    keys: set[str] = set()
    for key, value in node.value:
        line = key.start_mark.line + 1
        if str(key.value) in keys:
            raise Unreadable(line, "this name stands twice in one object, of which YAML keeps the last")
        keys.add(str(key.value))
        _must_be_plain(key, "int", "bool", "null")
        mark = (*above, _key_text(key, text))
        try:
            several = names(str(key.value), place)
        except ValueError as error:
            raise Unreadable(line, str(error)) from None
        for name in several:
            own = into.below.get(name)
            if own is None:
                own = into.below[name] = Object(mark, line)
            _read(own, value, text, (*place, name), mark)


def _key_text(key: yaml.Node, text: str) -> str:
    """A key as it stands in its line: before a colon, or after the `?` of a key that is long."""
    start, end = key.start_mark, key.end_mark
    before = text[start.index - start.column : start.index]
    if before.strip():
        return f"\n{before}{text[start.index : end.index]}"
    return f"\n{before}{text[start.index : end.index]}:"


def _must_be_plain(node: yaml.Node, *kinds: str) -> None:
    """Raises Unreadable for text without quotes that a release of YAML reads as something else than stands there:
    `010` as 8, and `no` as no name.

    `64512:1` is a number of minutes in YAML 1.1 alone, and NVUE prints it so (NVIDIA/enterprise-ras, exported
    configurations of 5.13): it writes and reads YAML 1.2, where that is text.
    """
    kind = node.tag.rpartition(":")[2]
    is_plain = _DECIMAL.fullmatch(node.value) or _MINUTES.fullmatch(node.value)
    if kind not in _KINDS or (kind in kinds and not is_plain):
        raise Unreadable(node.start_mark.line + 1, f"{node.value} without quotes may be read as something else")


def begins(text: str, line: int) -> int:
    """Where a line, from 1, begins in a text."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return at


def shown(path: tuple[str, ...]) -> str:
    """A path as the words of a command."""
    return " ".join(path)
