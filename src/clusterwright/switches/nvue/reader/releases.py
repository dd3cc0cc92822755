"""Reading a file of any release of NVUE as if 5.10 had written it, and words without a common release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache

from clusterwright.switches.nvue.reader.arguments import unfit, without
from clusterwright.switches.nvue.reader.objects import Object
from clusterwright.switches.nvue.reader.yaml_text import read_objects
from clusterwright.switches.nvue.words.renaming import Sign, find, in_oldest_words, signs
from clusterwright.switches.nvue.words.table import ORDER, Release, parsed_release

_ANY_HEADER = re.compile(r'^ *(?:- )?(?:\{ *)?["\']?header["\']?:', re.M)
_HEADER = re.compile(r"^ +version: Cumulus Linux (\d+\.\d+)", re.M)


class ReadTree:
    """Objects as read. A new object has the place of its origin."""

    def below(self, node: Object) -> dict[str, Object]:
        """The children of an object."""
        return node.below

    def value(self, node: Object) -> str:
        """The text of a value."""
        return node.value

    def leaf(self, text: str, like: Object) -> Object:
        """A value at the place of another."""
        return Object(like.mark, like.line, text)

    def branch(self, like: Object) -> Object:
        """An object at the place of another."""
        return Object(like.mark, like.line)


TREE = ReadTree()


@lru_cache(maxsize=128)
def read_nvue_objects(text: str) -> Object:
    """A file's settings in forms known to readers, named as in 5.10.

    Raises Unreadable at an unreadable line.
    """
    root = all_nvue_objects(text)
    places = list(unfit(root))
    return without(root, places) if places else root


@lru_cache(maxsize=128)
def all_nvue_objects(text: str) -> Object:
    """A file's settings in any form, named as in 5.10. Raises Unreadable as above."""
    root = read_objects(text)
    orders = [node for _, node in find(TREE, root, ORDER) if node.below]
    if not orders and all(sign.since is None for sign in _signs_of(text)):
        return root
    root = deepcopy(root)  # the cached objects stay unchanged
    in_oldest_words(TREE, root)
    return root


@lru_cache(maxsize=128)
def _signs_of(text: str) -> tuple[Sign[Object], ...]:
    return tuple(signs(TREE, read_objects(text)))


def has_header(text: str) -> bool:
    """Whether NVUE printed a file: a file written for it has no header."""
    return "header" in text and _ANY_HEADER.search(text) is not None


def stated_release(text: str) -> Release | None:
    """The release in a file's header, as printed by NVUE."""
    header = _HEADER.search(text)
    return None if header is None else parsed_release(header[1])


def release_bounds(text: str) -> tuple[Release | None, Release | None]:
    """The first release with all of a file's words, and the first one without some of them."""
    signs = _signs_of(text)
    since = max((sign.since for sign in signs if sign.since), default=None)
    before = min((sign.before for sign in signs if sign.before), default=None)
    return since, before


def mixed_words(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Lines without a common release with the others: those of the fewer."""
    since, before = release_bounds(text)
    stated = stated_release(text)
    signs = _signs_of(text)
    if stated is not None:
        for sign in signs:
            if (sign.since and sign.since > stated) or (sign.before and sign.before <= stated):
                yield sign.node.line, ("words of another release than the header's",)
    elif since is not None and before is not None and since >= before:
        newer: set[int] = set()
        older: set[int] = set()
        for sign in signs:
            if sign.since is not None and sign.since >= before:
                newer.add(sign.node.line)
            if sign.before is not None and sign.before <= since:
                older.add(sign.node.line)
        fewer = min(older, newer, key=len)
        for line in sorted(fewer):
            yield line, ("words of two releases in one file",)
