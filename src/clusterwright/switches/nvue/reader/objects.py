"""The objects of a file of NVUE: a tree by name, with the place of each in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from clusterwright.facts.router import Mark


@dataclass(slots=True)
class Object:
    """An object or a value: ``value`` is "" for one with others below it; ``line`` counts from 1."""

    mark: Mark = ()
    line: int = 0
    value: str = ""
    below: dict[str, Object] = field(default_factory=dict)

    def at(self, *path: str) -> Object:
        """The object at a path below this, an empty one without any."""
        node = self
        for name in path:
            node = node.below.get(name, NOTHING)
        return node

    def text(self, *path: str, default: str = "") -> str:
        """The value at a path, ``default`` without one."""
        node = self.at(*path)
        return node.value if node.line and not node.below else default

    def number(self, *path: str, default: int = 0) -> int:
        """The value at a path as a number. Raises ValueError for any other."""
        return int(self.text(*path, default=str(default)))

    def is_on(self, *path: str, default: bool = False) -> bool:
        """The value at a path as a switch, in the words of the releases: on and off, enabled and disabled."""
        return self.text(*path, default="on" if default else "off") in {"on", "enable", "enabled"}

    def items(self, *path: str) -> Iterator[tuple[str, Object]]:
        """Names and objects below a path, in the order of the file."""
        yield from self.at(*path).below.items()


NOTHING = Object()


def begins(text: str, line: int) -> int:
    """Offset of a line, from 1, in a text."""
    offset = 0
    for _ in range(line - 1):
        offset = text.find("\n", offset) + 1
    return offset


def shown(path: tuple[str, ...]) -> str:
    """A path as the words of a command."""
    return " ".join(path)
