"""Naming objects as a release does, in either direction, by the table of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from clusterwright.switches.nvue.words.table import (
    BFD_PLACES,
    BFD_PROFILE,
    BFD_TIMES,
    GONE,
    MOVES,
    ON_OFF,
    ORDER,
    ORDER_SINCE,
    PROFILE,
    PROFILES_SINCE,
    RELAY_GROUPS_SINCE,
    SWITCHES,
    V4,
    V6,
    MovedObject,
    Release,
)

_ADDRESS = re.compile(r"[0-9.]+(/[0-9]+)?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(/[0-9]+)?")
Variables = dict[str, str]
N = TypeVar("N")


class Tree(Protocol[N]):
    """Objects as a tree, whether they are being written or were read."""

    def below(self, node: N) -> dict[str, N]:
        """The children of an object, to be changed; none below a value."""

    def value(self, node: N) -> str:
        """The text of a value, "" for an object."""

    def leaf(self, text: str, like: N) -> N:
        """A value at the place of another."""

    def branch(self, like: N) -> N:
        """An object without anything below it, at the place of another."""


@dataclass(frozen=True, slots=True)
class Sign(Generic[N]):
    """An object present ``since`` a release, or ``before`` one alone."""

    since: Release | None
    before: Release | None
    node: N


def find(tree: Tree[N], node: N, path: str) -> list[tuple[Variables, N]]:
    """Everything at a path, with the names for its words in ``<>``."""
    matches: list[tuple[Variables, N]] = [({}, node)]
    for word in path.split(" "):
        deeper_matches: list[tuple[Variables, N]] = []
        for variables, parent in matches:
            for name in _names(tree, parent, word, variables):
                child = tree.below(parent)[name]
                if _is_variable(word):
                    deeper_matches.append(({**variables, _variable(word): name}, child))
                else:
                    deeper_matches.append((variables, child))
        matches = deeper_matches
    return matches


def _is_variable(word: str) -> bool:
    return word.startswith("<")


def _variable(word: str) -> str:
    """The name of a variable, without its brackets."""
    return word[1:-1]


def _names(tree: Tree[N], node: N, word: str, variables: Variables) -> list[str]:
    """The names of an object's children that match a word of a path."""
    below = tree.below(node)
    name = variables.get(_variable(word)) if _is_variable(word) else word
    if name is None:
        return [name for name in below if _may_be(word, name)]
    return [name] if name in below else []


def _may_be(word: str, name: str) -> bool:
    """Whether a name may stand for a variable: an address for one of its version."""
    if word not in {V4, V6}:
        return True
    version_word = V6 if ":" in name else V4
    return word == version_word and _ADDRESS.fullmatch(name) is not None


def _filled(path: str, variables: Variables) -> list[str]:
    """The words of a path with the values of all its variables. Raises KeyError for an unknown variable."""
    return [variables[_variable(word)] if _is_variable(word) else word for word in path.split(" ")]


def _take(tree: Tree[N], root: N, path: list[str]) -> None:
    """Remove the object at a path, and every object above it left empty by that."""
    above = [root]
    for name in path[:-1]:
        above.append(tree.below(above[-1])[name])
    for node, name in zip(reversed(above), reversed(path), strict=True):
        del tree.below(node)[name]
        if tree.below(node):
            return


def _put(tree: Tree[N], root: N, path: list[str], node: N) -> None:
    """Put an object at a path, beside existing ones."""
    parent = root
    *names_above, last_name = path
    for name in names_above:
        below = tree.below(parent)
        if name not in below:
            below[name] = tree.branch(node)
        parent = below[name]
    below = tree.below(parent)
    if last_name in below and tree.below(below[last_name]):
        for name, child in tree.below(node).items():
            _put(tree, below[last_name], [name], child)
    else:
        below[last_name] = node


def in_words_of(tree: Tree[N], root: N, release: Release) -> None:
    """Write objects in the words of 5.10 in those of a release."""
    for move in MOVES:
        if release >= move.since:
            _move(tree, root, move.was, move.now, kept=move.kept, lifted=move.lifted, otherwise=move.otherwise)
    for gone in GONE:
        if release >= gone.since:
            for variables, _ in find(tree, root, gone.was):
                _take(tree, root, _filled(gone.was, variables))
    if release >= ORDER_SINCE:
        _to_ordered(tree, root)
    if release >= PROFILES_SINCE:
        _to_profiles(tree, root)
    for switch in SWITCHES:
        if release >= switch.since:
            _reword(tree, root, switch.was, switch.now, ON_OFF)


def _to_ordered(tree: Tree[N], root: N) -> None:
    """Write the order of authentication as an object with its method."""
    for variables, node in find(tree, root, ORDER):
        order = tree.branch(node)
        tree.below(order)[tree.value(node)] = tree.branch(node)
        _put(tree, root, _filled(ORDER, variables), order)


def in_oldest_words(tree: Tree[N], root: N) -> None:
    """Name objects as 5.10 does, from any release."""
    old_words = {new: old for old, new in ON_OFF.items()}
    for switch in reversed(SWITCHES):
        _reword(tree, root, switch.now, switch.was, old_words)
    _from_profiles(tree, root)
    for variables, node in find(tree, root, ORDER):
        for method in list(tree.below(node))[:1]:
            _take(tree, root, _filled(ORDER, variables))
            _put(tree, root, _filled(ORDER, variables), tree.leaf(method, node))
    for move in reversed(MOVES):
        if move.lifted:
            _lower(tree, root, move)
        else:
            _move(tree, root, move.now, move.was, lifted=move.kept, otherwise=move.otherwise)


def _move(
    tree: Tree[N], root: N, was: str, now: str, *, kept: str = "", lifted: str = "", otherwise: str = "default"
) -> None:
    """Move all objects at the path ``was`` to ``now``.

    A variable of ``was`` alone becomes the value at ``kept``. A variable of ``now`` alone is the value at ``lifted``,
    which is removed, or ``otherwise`` without that.
    """
    lost_variables = _variables_beside(was, now)
    new_variables = _variables_beside(now, was)
    lifted_paths: list[list[str]] = []
    for variables, node in find(tree, root, was):
        new_name = otherwise
        if lifted:
            lifted_values = find(tree, root, _partly_filled(lifted, variables))
            lifted_paths += [_filled(lifted, variables) for _ in lifted_values]
            if lifted_values:
                new_name = tree.value(lifted_values[0][1])
        names = variables | dict.fromkeys(new_variables, new_name)
        _take(tree, root, _filled(was, variables))
        if lifted.startswith(was):
            tree.below(node).pop(lifted.rsplit(" ", maxsplit=1)[-1], None)
            lifted_paths = []
        _put(tree, root, _filled(now, names), node)
        if kept:
            (lost_variable,) = lost_variables
            _put(tree, root, _filled(kept, names), tree.leaf(variables[lost_variable], node))
    for path in lifted_paths:
        if find(tree, root, " ".join(path)):
            _take(tree, root, path)


def _variables_beside(path: str, other: str) -> list[str]:
    """The variables of a path that are missing in another one."""
    words = [word for word in path.split(" ") if _is_variable(word)]
    return [_variable(word) for word in dict.fromkeys(words) if word not in other.split(" ")]


def _partly_filled(path: str, variables: Variables) -> str:
    """A path with the values of its known variables."""
    words = [variables.get(_variable(word), word) if _is_variable(word) else word for word in path.split(" ")]
    return " ".join(words)


def _lower(tree: Tree[N], root: N, move: MovedObject) -> None:
    """Servers named by their address, numbered by their priorities again."""
    priority, host = move.kept.split(" ")[-1], move.lifted.split(" ")[-1]
    (address,) = _variables_beside(move.now, move.was)
    (number,) = _variables_beside(move.was, move.now)
    for variables, node in find(tree, root, move.now):
        below = tree.below(node)
        if priority not in below or host in below:
            continue
        rank = tree.value(below.pop(priority))
        below[host] = tree.leaf(variables[address], node)
        _take(tree, root, _filled(move.now, variables))
        _put(tree, root, _filled(move.was, {number: rank}), node)
        for gone in GONE:
            is_beside = move.was.startswith(gone.was.rpartition(" ")[0])
            if is_beside and not find(tree, root, gone.was):
                _put(tree, root, gone.was.split(" "), tree.leaf("on", node))


def _reword(tree: Tree[N], root: N, was: str, now: str, words: Mapping[str, str]) -> None:
    """Move all values in ``words`` from one path to another, reworded."""
    for variables, node in find(tree, root, was):
        text = tree.value(node)
        if text not in words:
            continue
        _take(tree, root, _filled(was, variables))
        _put(tree, root, _filled(now, variables), tree.leaf(words[text], node))


def _to_profiles(tree: Tree[N], root: N) -> None:
    """Write the times of each group's BFD as one profile, equal on all switches of the plan."""
    for place in BFD_PLACES:
        for variables, node in find(tree, root, place):
            times = {name: tree.below(node)[name] for name in BFD_TIMES if name in tree.below(node)}
            is_on = tree.value(tree.below(node)["enable"]) == "on"
            _take(tree, root, _filled(place, variables))
            if not is_on:
                continue
            for name, value in times.items():
                _put(tree, root, [*_filled(PROFILE, {"profile": BFD_PROFILE}), name], value)
            _put(tree, root, ["router", "bfd", "state"], tree.leaf("enabled", node))
            _put(tree, root, [*_filled(place, variables), "profile"], tree.leaf(BFD_PROFILE, node))


def _from_profiles(tree: Tree[N], root: N) -> None:
    """Write the times of a profile for BFD in each group or neighbour with it."""
    is_on = any(tree.value(node) == "enabled" for _, node in find(tree, root, "router bfd state"))
    profiles = {variables["profile"]: node for variables, node in find(tree, root, PROFILE)}
    used = set()
    for place in BFD_PLACES:
        for variables, node in find(tree, root, f"{place} profile"):
            name = tree.value(node)
            if name not in profiles:
                continue  # stays unread, as does a missing profile
            used.add(name)
            path = _filled(place, variables)
            _take(tree, root, [*path, "profile"])
            _put(tree, root, [*path, "enable"], tree.leaf("on" if is_on else "off", node))
            for word in BFD_TIMES:
                if word in tree.below(profiles[name]):
                    _put(tree, root, [*path, word], tree.below(profiles[name])[word])
    for name in used:
        if set(tree.below(profiles[name])) <= set(BFD_TIMES):
            _take(tree, root, [*_filled(PROFILE, {"profile": name})])
    if used and is_on:
        _take(tree, root, ["router", "bfd", "state"])


def signs(tree: Tree[N], root: N) -> Iterator[Sign[N]]:
    """Signs of the release of objects."""
    yield from _signs_of_moves(tree, root)
    yield from _signs_of_values(tree, root)
    yield from _signs_of_profiles_and_groups(tree, root)


def _signs_of_moves(tree: Tree[N], root: N) -> Iterator[Sign[N]]:
    for move in MOVES:
        if move.lifted:
            for _, node in find(tree, root, move.now):
                is_new = move.kept.split(" ")[-1] in tree.below(node)
                if is_new:
                    yield Sign(since=move.since, before=None, node=node)
                else:
                    yield Sign(since=None, before=move.since, node=node)
            continue
        for _, node in find(tree, root, move.was):
            yield Sign(since=None, before=move.since, node=node)
        for _, node in find(tree, root, move.now):
            yield Sign(since=move.since, before=None, node=node)


def _signs_of_values(tree: Tree[N], root: N) -> Iterator[Sign[N]]:
    for gone in GONE:
        for _, node in find(tree, root, gone.was):
            yield Sign(since=None, before=gone.since, node=node)
    for switch in SWITCHES:
        for _, node in find(tree, root, switch.was):
            if tree.value(node) in ON_OFF:
                yield Sign(since=None, before=switch.since, node=node)
        for _, node in find(tree, root, switch.now):
            if tree.value(node) in ON_OFF.values():
                yield Sign(since=switch.since, before=None, node=node)


def _signs_of_profiles_and_groups(tree: Tree[N], root: N) -> Iterator[Sign[N]]:
    for place in BFD_PLACES:
        for _, node in find(tree, root, f"{place} enable"):
            yield Sign(since=None, before=PROFILES_SINCE, node=node)
        for _, node in find(tree, root, f"{place} profile"):
            yield Sign(since=PROFILES_SINCE, before=None, node=node)
    for word in ("server", "interface"):
        for _, node in find(tree, root, f"service dhcp-relay <vrf> {word}"):
            yield Sign(since=None, before=RELAY_GROUPS_SINCE, node=node)
    for word in ("server-group", "downstream-interface"):
        for _, node in find(tree, root, f"service dhcp-relay <vrf> {word}"):
            yield Sign(since=RELAY_GROUPS_SINCE, before=None, node=node)
