"""NVUE's objects as they stand in a file: a tree by name, with the place of each in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from clusterwright.facts.router import Mark


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
        node = self.at(*path)
        return node.value if node.line and not node.below else default

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


def begins(text: str, line: int) -> int:
    """Where a line, from 1, begins in a text."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return at


def shown(path: tuple[str, ...]) -> str:
    """A path as the words of a command."""
    return " ".join(path)
