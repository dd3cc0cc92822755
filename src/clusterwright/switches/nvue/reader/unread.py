"""Objects in a file of NVUE's outside the lists of known ones.

A ``*`` in a list stands for any name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.defaults import is_all_default, is_default
from clusterwright.switches.nvue.reader.objects import Object

_Trie = dict[str, "_Trie"]
_END = ""
_Place = tuple[int, tuple[str, ...]]  # a line, and the path of its object


class KnownObjects:
    """The paths of known effect, and by first words the claims others could touch.

    Every claim reading the file if nothing in ``touches`` begins a path. ``unknown`` gives lines and paths with known
    words and unknown names or values; ``read`` gives the objects of a text.
    """

    def __init__(
        self,
        file: str,
        paths: Iterable[str],
        touches: Mapping[str, frozenset[str]],
        unknown: Callable[[Object, str], Iterator[_Place]],
        read: Callable[[str], Object],
    ) -> None:
        self._file = file
        self._read = read
        self._unknown = unknown
        self._touches = {tuple(words.split()): claims for words, claims in touches.items()}
        self._known: _Trie = {}
        for path in paths:
            here = self._known
            for word in path.split():
                here = here.setdefault(word, {})
            here[_END] = {}

    def unread(self, text: str) -> tuple[Unread, ...]:
        """Every object and value on no list; none for an unreadable file, reported by proofs."""
        try:
            root = self._read(text)
        except Unreadable:
            return ()
        places: list[Unread] = []
        for line, path in (*_unread(root, (self._known,), ()), *self._unknown(root, text)):
            places.append(Unread(file=self._file, line=line, text=BETWEEN.join(path), claims=self._touched(path)))
        return tuple(places)

    def _touched(self, path: tuple[str, ...]) -> frozenset[str]:
        for words, claims in self._touches.items():
            if len(words) <= len(path) and all(word in {"*", name} for word, name in zip(words, path, strict=False)):
                return claims
        return frozenset()


def _unread(node: Object, tries: tuple[_Trie, ...], path: tuple[str, ...]) -> Iterator[_Place]:
    if not node.below:
        if not any(_END in trie for trie in tries) and not is_default(path, node.value):
            yield node.line, path
        return
    for name, below in node.items():
        here = tuple(trie[word] for trie, word in product(tries, (name, "*")) if word in trie)
        if here:
            yield from _unread(below, here, (*path, name))
        elif not is_all_default((*path, name), below):
            yield below.line, (*path, name)
