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
        further = []
        for variables, here in matches:
            for name in _names(tree, here, word, variables):
                more = {**variables, word[1:-1]: name} if word.startswith("<") else variables
                further.append((more, tree.below(here)[name]))
        matches = further
    return matches


def _names(tree: Tree[N], node: N, word: str, variables: Variables) -> list[str]:
    below = tree.below(node)
    if not word.startswith("<"):
        return [word] if word in below else []
    value = variables.get(word[1:-1])
    if value is not None:
        return [value] if value in below else []
    return [name for name in below if _is_of(word, name)]


def _is_of(word: str, name: str) -> bool:
    """Whether a name may stand for a word: an address for one of its version."""
    if word in {V4, V6}:
        return _ADDRESS.fullmatch(name) is not None and (":" in name) == (word == V6)
    return True


def _filled(path: str, variables: Variables) -> list[str]:
    return [variables[word[1:-1]] if word.startswith("<") else word for word in path.split(" ")]


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
    here = root
    for name in path[:-1]:
        below = tree.below(here)
        if name not in below:
            below[name] = tree.branch(node)
        here = below[name]
    below = tree.below(here)
    if path[-1] in below and tree.below(below[path[-1]]):
        for name, child in tree.below(node).items():
            _put(tree, below[path[-1]], [name], child)
    else:
        below[path[-1]] = node


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
    for switch in reversed(SWITCHES):
        _reword(tree, root, switch.now, switch.was, {new: old for old, new in ON_OFF.items()})
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
    lost = set(was.split(" ")) - set(now.split(" "))
    wanted = [word for word in now.split(" ") if word.startswith("<") and word not in was.split(" ")]
    holders = []
    for variables, node in find(tree, root, was):
        names = dict(variables)
        if lifted:
            held = [value for _, value in find(tree, root, " ".join(_part(lifted, variables)))]
            holders += [_filled(lifted, variables) for _ in held]
            names |= {word[1:-1]: tree.value(held[0]) if held else otherwise for word in wanted}
        else:
            names |= {word[1:-1]: otherwise for word in wanted}
        _take(tree, root, _filled(was, variables))
        if lifted.startswith(was):
            tree.below(node).pop(lifted.rsplit(" ", maxsplit=1)[-1], None)
            holders = []
        _put(tree, root, _filled(now, names), node)
        if kept:
            (word,) = (word for word in lost if word.startswith("<"))
            _put(tree, root, _filled(kept, names), tree.leaf(variables[word[1:-1]], node))
    for holder in holders:
        if find(tree, root, " ".join(holder)):
            _take(tree, root, holder)


def _part(path: str, variables: Variables) -> list[str]:
    return [variables.get(word[1:-1], word) if word.startswith("<") else word for word in path.split(" ")]


def _lower(tree: Tree[N], root: N, move: MovedObject) -> None:
    """Servers named by their address, numbered by their priorities again."""
    priority, host = move.kept.split(" ")[-1], move.lifted.split(" ")[-1]
    (address,) = set(move.now.split(" ")) - set(move.was.split(" "))
    (number,) = set(move.was.split(" ")) - set(move.now.split(" "))
    for variables, node in find(tree, root, move.now):
        below = tree.below(node)
        if priority not in below or host in below:
            continue
        rank = tree.value(below.pop(priority))
        below[host] = tree.leaf(variables[address[1:-1]], node)
        _take(tree, root, _filled(move.now, variables))
        _put(tree, root, _filled(move.was, {number[1:-1]: rank}), node)
        for gone in GONE:
            is_beside = move.was.startswith(gone.was.rpartition(" ")[0])
            if is_beside and not find(tree, root, gone.was):
                _put(tree, root, gone.was.split(" "), tree.leaf("on", node))


def _reword(tree: Tree[N], root: N, was: str, now: str, words: Mapping[str, str]) -> None:
    for variables, node in find(tree, root, was):
        text = tree.value(node)
        if text not in words:
            continue
        _take(tree, root, _filled(was, variables))
        _put(tree, root, _filled(now, variables), tree.leaf(words[text], node))


def _to_profiles(tree: Tree[N], root: N) -> None:
    """The times of each group's BFD as one profile, equal on all switches of the plan."""
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
    is_on = any(tree.value(node) == "enabled" for _, node in find(tree, root, "router bfd state"))
    profiles = {variables["profile"]: node for variables, node in find(tree, root, PROFILE)}
    used = set()
    for place in BFD_PLACES:
        for variables, node in find(tree, root, f"{place} profile"):
            name = tree.value(node)
            if name not in profiles:
                continue  # unread, as is a profile that is not there
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
                yield Sign(move.since, None, node) if is_new else Sign(None, move.since, node)
            continue
        for _, node in find(tree, root, move.was):
            yield Sign(None, move.since, node)
        for _, node in find(tree, root, move.now):
            yield Sign(move.since, None, node)


def _signs_of_values(tree: Tree[N], root: N) -> Iterator[Sign[N]]:
    for gone in GONE:
        for _, node in find(tree, root, gone.was):
            yield Sign(None, gone.since, node)
    for switch in SWITCHES:
        for _, node in find(tree, root, switch.was):
            if tree.value(node) in ON_OFF:
                yield Sign(None, switch.since, node)
        for _, node in find(tree, root, switch.now):
            if tree.value(node) in ON_OFF.values():
                yield Sign(switch.since, None, node)


def _signs_of_profiles_and_groups(tree: Tree[N], root: N) -> Iterator[Sign[N]]:
    for place in BFD_PLACES:
        for _, node in find(tree, root, f"{place} enable"):
            yield Sign(None, PROFILES_SINCE, node)
        for _, node in find(tree, root, f"{place} profile"):
            yield Sign(PROFILES_SINCE, None, node)
    for word in ("server", "interface"):
        for _, node in find(tree, root, f"service dhcp-relay <vrf> {word}"):
            yield Sign(None, RELAY_GROUPS_SINCE, node)
    for word in ("server-group", "downstream-interface"):
        for _, node in find(tree, root, f"service dhcp-relay <vrf> {word}"):
            yield Sign(RELAY_GROUPS_SINCE, None, node)
