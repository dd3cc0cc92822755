"""Writing objects in the words of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.switches.nvue.words.renaming import in_words_of

if TYPE_CHECKING:
    from clusterwright.switches.nvue.words.table import Release

Objects = dict[str, Any]


class WrittenTree:
    """Objects being written: mappings, texts and numbers."""

    def below(self, node: Any) -> dict[str, Any]:
        """The children of a mapping."""
        return node if isinstance(node, dict) else {}

    def value(self, node: Any) -> str:
        """A text or number as text."""
        return "" if isinstance(node, dict) else str(node)

    def leaf(self, text: str, like: Any) -> Any:
        """A number if the text is one."""
        del like
        return int(text) if text.isdecimal() else text

    def branch(self, like: Any) -> Any:
        """An empty mapping."""
        del like
        return {}


TREE = WrittenTree()


def written_for(objects: Objects, release: Release) -> Objects:
    """Objects named as in 5.10, in a release's names, sorted if some were joined."""
    in_words_of(TREE, objects, release)
    return _in_order(objects)


def _in_order(objects: Objects) -> Objects:
    for name in ("service", "system", "vrf"):
        if name in objects:
            objects[name] = dict(sorted(objects[name].items()))
    return dict(sorted(objects.items()))
