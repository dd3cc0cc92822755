"""Which fields of an FBOSS switch's files no reader takes in, and which claims those could touch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

from clusterwright.platforms.fboss.reader.configuration import AGENT, BGP
from clusterwright.platforms.fboss.reader.known_fields import (
    AGENT_IDLE,
    AGENT_READ,
    AGENT_REFUTED,
    BGP_EMPTY_LISTS,
    BGP_IDLE,
    BGP_READ,
    CLAIMS,
    EMPTY_LISTS,
)
from clusterwright.platforms.unread import BETWEEN, Unread

_LIST, _ANY_KEY = "[]", "*"
_WHATEVER = "..."
_EMPTY: dict[str, Any] = {}  # a list of which no entry is known
_Keys = tuple[str | int, ...]
_Node = dict[str, Any]  # fields to what is known of them: a node, the values that are accounted for, None for any
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def agent_unread(text: str) -> tuple[Unread, ...]:
    """Every field of an agent.conf that is neither understood nor known to be without influence."""
    return _unread(AGENT, text, _agent())


def bgp_unread(text: str) -> tuple[Unread, ...]:
    """Every such field of a bgpcpp.conf."""
    return _unread(BGP, text, _bgp())


@cache
def _agent() -> _Node:
    tables = (AGENT_READ, AGENT_IDLE, "\n".join(f"sw {name}{_WHATEVER}" for name in AGENT_REFUTED.split()))
    return _known(tables, EMPTY_LISTS)


@cache
def _bgp() -> _Node:
    return _known((BGP_READ, BGP_IDLE), BGP_EMPTY_LISTS)


def _known(tables: Iterable[str], empty: str) -> _Node:
    root: _Node = {}
    for line in (line.split() for table in (*tables, empty) for line in table.strip().split("\n")):
        node = root
        for part in [] if line[0] == "top" else line[0].replace(_LIST, f".{_LIST}").split("."):
            node = node.setdefault(part, {})
        for field in line[1:]:
            name, has_values, allowed = field.partition("=")
            if name.endswith(_WHATEVER):
                node[name.removesuffix(_WHATEVER)] = _WHATEVER
            elif name.endswith(_LIST):
                node.setdefault(name.removesuffix(_LIST), {_LIST: None})
            else:
                node[name] = frozenset(allowed.split("|")) if has_values else None
    for line in (line.split() for line in empty.strip().split("\n")):
        node = root
        for part in line[0].replace(_LIST, f".{_LIST}").split("."):
            node = node[part]
        node.update(dict.fromkeys((field.removesuffix(_LIST) for field in line[1:]), _EMPTY))
    return root


def _unread(file: str, text: str, known: _Node) -> tuple[Unread, ...]:
    twice: list[str] = []
    try:
        document = json.loads(text, object_pairs_hook=partial(_once, twice))
    except (ValueError, RecursionError):
        return (Unread(file, 0, "text that is no JSON"),)
    found = list(_unknown(document, known, ()))
    if not found and not twice:
        return ()
    lines, doubled = _lines(text) if found or twice else ({}, {})
    return tuple(
        Unread(file, line, BETWEEN.join(key for key in keys if isinstance(key, str)), _claims(keys))
        for keys, line in [*((keys, lines.get(keys, 0)) for keys in found), *doubled.items()]
    )


def _once(twice: list[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice.append(pairs[0][0])
    return made


def _unknown(value: Any, known: Any, keys: _Keys) -> Iterator[_Keys]:
    """Where fields or values stand that are not accounted for."""
    if known == _WHATEVER or value is None:
        return
    if isinstance(value, dict):
        if not isinstance(known, dict) or _LIST in known or (known is _EMPTY and value):
            yield keys
            return
        for key, each in value.items():
            if key in known:
                yield from _unknown(each, known[key], (*keys, key))
            elif _ANY_KEY in known:
                yield from _unknown(each, known[_ANY_KEY], (*keys, key))
            else:
                yield (*keys, key)
    elif isinstance(value, list):
        if value and (not isinstance(known, dict) or _LIST not in known):
            yield keys
            return
        for at, each in enumerate(value):
            yield from _unknown(each, known[_LIST], (*keys, at))
    elif isinstance(known, dict) or (known is not None and _written(value) not in known):
        yield keys


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _claims(keys: _Keys) -> frozenset[str]:
    return CLAIMS.get(str(keys[1]), frozenset()) if keys[:1] == ("sw",) and len(keys) > 1 else frozenset()


def _lines(text: str) -> tuple[dict[_Keys, int], dict[_Keys, int]]:
    """The line of every field and entry by the keys and places that lead to it, and of those that stand there twice."""
    found: dict[_Keys, int] = {}
    doubled: dict[_Keys, int] = {}
    path: list[str | int] = []
    opened: list[str] = []
    line, before, string = 1, 0, ""
    for token in _TOKEN.finditer(text):
        line += text.count("\n", before, token.start())
        before = token.start()
        word = token[0]
        if word in "{[":
            opened.append(word)
            path.append(0 if word == "[" else "")
        elif word in "}]":
            opened.pop()
            path.pop()
        elif word == "," and opened[-1] == "[":
            path[-1] = int(path[-1]) + 1
        elif word == ":":
            path[-1] = str(json.loads(string))
            keys = tuple(path)
            if keys in found:
                doubled[keys] = line
            found.setdefault(keys, line)
        elif word not in ",:":
            string = word
        if opened and opened[-1] == "[":
            found.setdefault(tuple(path), line)
    return found, doubled
