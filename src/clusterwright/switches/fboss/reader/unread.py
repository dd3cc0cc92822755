"""Which fields of an FBOSS switch's files no reader takes in, and which claims those could touch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partial
from typing import Any

from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.switches.fboss.reader.arguments import FORMS, Form, has_ill_formed_words
from clusterwright.switches.fboss.reader.configuration import AGENT, BGP, LAYOUTS
from clusterwright.switches.fboss.reader.defaults import AGENT_DEFAULTS, BGP_DEFAULTS, Defaults, defaults_of
from clusterwright.switches.fboss.reader.document import FileShape, document_of, fields_of
from clusterwright.switches.fboss.reader.known_fields import (
    AGENT_IDLE,
    AGENT_READ,
    AGENT_REFUTED,
    BGP_EMPTY_LISTS,
    BGP_IDLE,
    BGP_READ,
    CLAIMS,
    EMPTY_LISTS,
)

_LIST, _ANY_KEY = "[]", "*"
_WHATEVER = "..."
_EMPTY: dict[str, Any] = {}  # a list of which no entry is known
_Keys = tuple[str | int, ...]
_Shapes = dict[tuple[Any, ...], tuple[list[tuple[str, Any]], list[str]]]
# Fields to what is known of them: a node, the values or the form that is accounted for, None for any.
_Node = dict[str, Any]
_MANIFOLD = frozenset({dict, list})
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def agent_unread(text: str) -> tuple[Unread, ...]:
    """Every field of an agent.conf that is neither understood nor known to be without influence."""
    return _unread(AGENT, text)


def bgp_unread(text: str) -> tuple[Unread, ...]:
    """Every such field of a bgpcpp.conf."""
    return _unread(BGP, text)


@cache
def _tables(file: str) -> tuple[_Node, _Shapes]:
    """What is known of a file's fields, and the shapes that this took so far."""
    if file == BGP:
        return _known((BGP_READ, BGP_IDLE), BGP_EMPTY_LISTS, defaults_of(BGP_DEFAULTS)), {}
    refuted = "\n".join(f"sw {name}{_WHATEVER}" for name in AGENT_REFUTED.split())
    return _known((AGENT_READ, AGENT_IDLE, refuted), EMPTY_LISTS, defaults_of(AGENT_DEFAULTS)), {}


def _known(tables: Iterable[str], empty: str, defaults: Defaults) -> _Node:
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
                node.setdefault(name.removesuffix(_LIST), {_LIST: _form(line[0], name.removesuffix(_LIST))})
            elif has_values:
                node[name] = frozenset(allowed.split("|"))
            else:
                node[name] = _form(line[0], name)
    for line in (line.split() for line in empty.strip().split("\n")):
        node = root
        for part in line[0].replace(_LIST, f".{_LIST}").split("."):
            node = node[part]
        node.update(dict.fromkeys((field.removesuffix(_LIST) for field in line[1:]), _EMPTY))
    _add_defaults(root, defaults)
    return root


def _form(structure: str, field: str) -> Form | None:
    """What values of a field look like; None where any is accounted for."""
    return FORMS.get(f"{structure.rpartition('.')[2]}.{field}") or FORMS.get(field)


def _add_defaults(node: _Node, defaults: Defaults) -> None:
    """Accounts for fields that no reader knows where they are at their defaults."""
    for name, field in defaults.below.items():
        known_field = node.get(name)
        if name not in node:
            is_scalar = not field.below and not isinstance(field.default, dict | list)
            known_field = node[name] = frozenset({_written(field.default)}) if is_scalar else {}
        if isinstance(known_field, dict) and known_field is not _EMPTY:
            _add_defaults(known_field, field)


def _unread(file: str, text: str) -> tuple[Unread, ...]:
    if _is_read(file, text):
        return ()
    twice: list[str] = []
    try:
        document = json.loads(text, object_pairs_hook=partial(_once, twice))
    except (ValueError, RecursionError):
        return (Unread(file, 0, "text that is no JSON"),)
    lines_unread = list(_unknown(document, _tables(file)[0], ()))
    if not lines_unread and not twice:
        return ()
    lines, doubled = _lines(text) if lines_unread or twice else ({}, {})
    return tuple(
        Unread(
            file=file, line=line, text=BETWEEN.join(key for key in keys if isinstance(key, str)), claims=_claims(keys)
        )
        for keys, line in [*((keys, lines.get(keys, 0)) for keys in lines_unread), *doubled.items()]
    )


def _is_read(file: str, text: str) -> bool:
    """Whether every field is surely accounted for and none stands twice: most files have nothing to tell of."""
    if file == BGP and has_ill_formed_words(text):
        return False
    try:
        return _is_shape_read(file, document_of(text, LAYOUTS[file]).shape)
    except (ValueError, RecursionError):
        return False


@lru_cache(maxsize=256)
def _is_shape_read(file: str, shape: FileShape) -> bool:
    """The same of all files of a shape: words are texts in places where any text is accounted for."""
    key = LAYOUTS[file].key
    return _is_accounted(file, "", shape.around) and all(
        _is_accounted(file, key, form, is_part=True) for form in shape.forms
    )


@lru_cache(maxsize=256)
def _is_accounted(file: str, key: str, text: str, *, is_part: bool = False) -> bool:
    """Whether that is so of an object of JSON in the place of ``key``, or of the whole where that is "".

    Of a part, the first quote is left out.
    """
    if any(f"{blank}:" in text for blank in " \t\r\n"):
        return False  # such keys are not counted below
    known_keys, shapes = _tables(file)
    try:
        colons = text.count('":') - text.count('"::')  # behind a key, or at the start of an address
        fields = fields_of(text) if is_part else json.loads(text)
        return _fields(fields, known_keys[key] if key else known_keys, shapes) == colons
    except (KeyError, ValueError, RecursionError):
        return False


def _fields(value: Any, known: Any, shapes: _Shapes) -> int:
    """How many fields ``value`` has, all of which are accounted for. Raises KeyError or ValueError where one is not."""
    if isinstance(value, dict):
        return _fields_of_rows([value], known, shapes)
    if isinstance(value, list):
        if isinstance(known, Form | frozenset):
            raise ValueError
        entry = _beneath(known, _LIST) if value else None
        if set(map(type, value)) == {dict}:
            return _fields_of_rows(value, entry, shapes)
        return sum([_fields(each, entry, shapes) for each in value])
    if value is None or known is None or known == _WHATEVER:
        return 0
    if not _is_known(value, known):
        raise ValueError
    return 0


def _fields_of_rows(rows: list[dict[str, Any]], known: Any, shapes: _Shapes) -> int:
    """The same of mappings, field by field: rows of a table have the same fields, and often the same values there.

    ``shapes`` are what is known of the fields of mappings: first those that need a look at their values, then those
    that may have any.
    """
    if known != _WHATEVER and (not isinstance(known, dict) or _LIST in known):
        raise ValueError
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((*row,), []).append(row)
    found = 0
    for names, own in alike.items():
        shape = id(known), names
        if shape not in shapes:
            nodes = [(key, _beneath(known, key)) for key in names]
            shapes[shape] = (
                [node for node in nodes if node[1] is not None],
                [key for key, node in nodes if node is None],
            )
        judged, free = shapes[shape]
        found += len(names) * len(own)
        for key, node in judged:
            column = [row[key] for row in own]
            types = set(map(type, column))
            if types == {dict}:
                found += _fields_of_rows(column, node, shapes)
            elif len(column) == 1 or not _MANIFOLD.isdisjoint(types) or len(types) > 1:
                found += sum([_fields(each, node, shapes) for each in column])
            else:  # of one type without parts, equal values are the same
                found += sum([_fields(each, node, shapes) for each in set(column)])
        for key in free:
            if not _MANIFOLD.isdisjoint([type(row[key]) for row in own]):
                found += sum([_fields(row[key], None, shapes) for row in own if type(row[key]) in _MANIFOLD])
    return found


def _beneath(known: Any, key: str) -> Any:
    """What is known of a field, or of entries. Raises KeyError or ValueError where that is nothing."""
    if known == _WHATEVER:
        return known
    if not isinstance(known, dict):
        raise ValueError
    return known[key] if key in known or key == _LIST else known[_ANY_KEY]


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
        yield from _unknown_items(value, known, keys)
    elif known is not None and not _is_known(value, known):
        yield keys


def _unknown_items(values: list[Any], known: Any, keys: _Keys) -> Iterator[_Keys]:
    """The same in a list."""
    if isinstance(known, Form | frozenset) or (values and (not isinstance(known, dict) or _LIST not in known)):
        yield keys
        return
    for index, value in enumerate(values):
        yield from _unknown(value, known[_LIST], (*keys, index))


def _is_known(value: Any, known: Any) -> bool:
    """Whether a value without parts is accounted for."""
    if isinstance(known, Form):
        return known.fits(value)
    return not isinstance(known, dict) and _written(value) in known


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    return repr(value) if value.__class__ is int else json.dumps(value)


def _claims(keys: _Keys) -> frozenset[str]:
    return CLAIMS.get(str(keys[1]), frozenset()) if keys[:1] == ("sw",) and len(keys) > 1 else frozenset()


def _lines(text: str) -> tuple[dict[_Keys, int], dict[_Keys, int]]:
    """The line of every field and entry by the keys and places that lead to it, and of those that stand there twice."""
    lines: dict[_Keys, int] = {}
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
            if keys in lines:
                doubled[keys] = line
            lines.setdefault(keys, line)
        elif word not in ",:":
            string = word
        if opened and opened[-1] == "[":
            lines.setdefault(tuple(path), line)
    return lines, doubled
