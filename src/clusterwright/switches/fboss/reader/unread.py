"""Fields of an FBOSS switch's files outside any reader, and the claims they could touch."""

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
_EMPTY: dict[str, Any] = {}  # a list without a known entry
_Keys = tuple[str | int, ...]
_Shapes = dict[tuple[Any, ...], tuple[list[tuple[str, Any]], list[str]]]
# Knowledge of fields: a node, the accounted values or their form, None for any value.
_Node = dict[str, Any]
_MANIFOLD = frozenset({dict, list})
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def agent_unread(text: str) -> tuple[Unread, ...]:
    """Every field of an agent.conf neither understood nor known to be without influence."""
    return _unread(AGENT, text)


def bgp_unread(text: str) -> tuple[Unread, ...]:
    """Every such field of a bgpcpp.conf."""
    return _unread(BGP, text)


@cache
def _tables(file: str) -> tuple[_Node, _Shapes]:
    """Known fields of a file, and the shapes found so far with these alone."""
    if file == BGP:
        return _known((BGP_READ, BGP_IDLE), BGP_EMPTY_LISTS, defaults_of(BGP_DEFAULTS)), {}
    refuted = "\n".join(f"sw {name}{_WHATEVER}" for name in AGENT_REFUTED.split())
    return _known((AGENT_READ, AGENT_IDLE, refuted), EMPTY_LISTS, defaults_of(AGENT_DEFAULTS)), {}


def _known(tables: Iterable[str], empty: str, defaults: Defaults) -> _Node:
    root: _Node = {}
    for line in "\n".join(table.strip() for table in (*tables, empty)).split("\n"):
        structure, *fields = line.split()
        node = root
        for part in _parts(structure):
            node = node.setdefault(part, {})
        for field in fields:
            name, has_values, allowed = field.partition("=")
            if name.endswith(_WHATEVER):
                node[name.removesuffix(_WHATEVER)] = _WHATEVER
            elif name.endswith(_LIST):
                node.setdefault(name.removesuffix(_LIST), {_LIST: _form(structure, name.removesuffix(_LIST))})
            elif has_values:
                node[name] = frozenset(allowed.split("|"))
            else:
                node[name] = _form(structure, name)
    for line in empty.strip().split("\n"):
        structure, *fields = line.split()
        node = root
        for part in _parts(structure):
            node = node[part]
        node.update(dict.fromkeys((field.removesuffix(_LIST) for field in fields), _EMPTY))
    _add_defaults(root, defaults)
    return root


def _parts(structure: str) -> list[str]:
    """The keys that lead to a structure of a table; ``top`` is the document itself."""
    return [] if structure == "top" else structure.replace(_LIST, f".{_LIST}").split(".")


def _form(structure: str, field: str) -> Form | None:
    """The form of a field's values; None if any value is accounted for."""
    return FORMS.get(f"{structure.rpartition('.')[2]}.{field}") or FORMS.get(field)


def _add_defaults(node: _Node, defaults: Defaults) -> None:
    """Account for fields at their defaults outside any reader."""
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
    unknown = list(_unknown(document, _tables(file)[0], ()))
    if not unknown and not twice:
        return ()
    lines, doubled = _lines(text)
    reported = [(keys, lines.get(keys, 0)) for keys in unknown]
    reported.extend(doubled.items())
    places: list[Unread] = []
    for keys, line in reported:
        words = [key for key in keys if isinstance(key, str)]
        places.append(Unread(file=file, line=line, text=BETWEEN.join(words), claims=_claims(keys)))
    return tuple(places)


def _is_read(file: str, text: str) -> bool:
    """Whether every field is surely accounted for and none is repeated: the fast answer for most files."""
    if file == BGP and has_ill_formed_words(text):
        return False
    try:
        return _is_shape_read(file, document_of(text, LAYOUTS[file]).shape)
    except (ValueError, RecursionError):
        return False


@lru_cache(maxsize=256)
def _is_shape_read(file: str, shape: FileShape) -> bool:
    """The same for all files of a shape: words are texts at places with any text accounted for."""
    if not _is_accounted(file, "", shape.around):
        return False
    key = LAYOUTS[file].key
    return all(_is_accounted(file, key, form, is_part=True) for form in shape.forms)


@lru_cache(maxsize=256)
def _is_accounted(file: str, key: str, text: str, *, is_part: bool = False) -> bool:
    """Whether that holds for a JSON object in place of ``key``, or of the whole if it is "".

    A part lacks its first quote.
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


def _fields(value: Any, expected: Any, shapes: _Shapes) -> int:
    """Number of fields in ``value``, all accounted for. Raises KeyError or ValueError at any other."""
    if isinstance(value, dict):
        return _fields_of_rows([value], expected, shapes)
    if isinstance(value, list):
        if isinstance(expected, Form | frozenset):
            raise ValueError
        entry = _beneath(expected, _LIST) if value else None
        if set(map(type, value)) == {dict}:
            return _fields_of_rows(value, entry, shapes)
        return sum([_fields(item, entry, shapes) for item in value])
    if value is None or expected is None or expected == _WHATEVER:
        return 0
    if not _is_known(value, expected):
        raise ValueError
    return 0


def _fields_of_rows(rows: list[dict[str, Any]], expected: Any, shapes: _Shapes) -> int:
    """The same for mappings, field by field: rows of a table have the same fields, and often the same values.

    ``shapes`` is the knowledge of mappings' fields: first those with checked values, then those with any value.
    """
    if expected != _WHATEVER and (not isinstance(expected, dict) or _LIST in expected):
        raise ValueError
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        alike.setdefault((*row,), []).append(row)
    count = 0
    for names, alike_rows in alike.items():
        shape = id(expected), names
        if shape not in shapes:
            nodes = [(key, _beneath(expected, key)) for key in names]
            shapes[shape] = (
                [node for node in nodes if node[1] is not None],
                [key for key, node in nodes if node is None],
            )
        judged, free = shapes[shape]
        count += len(names) * len(alike_rows)
        for key, node in judged:
            column = [row[key] for row in alike_rows]
            types = set(map(type, column))
            if types == {dict}:
                count += _fields_of_rows(column, node, shapes)
            elif len(column) == 1 or not _MANIFOLD.isdisjoint(types) or len(types) > 1:
                count += sum([_fields(item, node, shapes) for item in column])
            else:  # of one type without parts, equal values are the same
                count += sum([_fields(item, node, shapes) for item in set(column)])
        for key in free:
            if not _MANIFOLD.isdisjoint([type(row[key]) for row in alike_rows]):
                count += sum([_fields(row[key], None, shapes) for row in alike_rows if type(row[key]) in _MANIFOLD])
    return count


def _beneath(expected: Any, key: str) -> Any:
    """Known children of a field, or of entries. Raises KeyError or ValueError without any."""
    if expected == _WHATEVER:
        return expected
    if not isinstance(expected, dict):
        raise ValueError
    return expected[key] if key in expected or key == _LIST else expected[_ANY_KEY]


def _once(twice: list[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice.append(pairs[0][0])
    return made


def _unknown(value: Any, expected: Any, keys: _Keys) -> Iterator[_Keys]:
    """Places of unaccounted fields or values."""
    if expected == _WHATEVER or value is None:
        return
    if isinstance(value, dict):
        if not isinstance(expected, dict) or _LIST in expected or (expected is _EMPTY and value):
            yield keys
            return
        for key, child in value.items():
            if key in expected:
                yield from _unknown(child, expected[key], (*keys, key))
            elif _ANY_KEY in expected:
                yield from _unknown(child, expected[_ANY_KEY], (*keys, key))
            else:
                yield (*keys, key)
    elif isinstance(value, list):
        yield from _unknown_items(value, expected, keys)
    elif expected is not None and not _is_known(value, expected):
        yield keys


def _unknown_items(values: list[Any], expected: Any, keys: _Keys) -> Iterator[_Keys]:
    """The same in a list."""
    if isinstance(expected, Form | frozenset) or (values and (not isinstance(expected, dict) or _LIST not in expected)):
        yield keys
        return
    for index, value in enumerate(values):
        yield from _unknown(value, expected[_LIST], (*keys, index))


def _is_known(value: Any, expected: Any) -> bool:
    """Whether a value without parts is accounted for."""
    if isinstance(expected, Form):
        return expected.fits(value)
    return not isinstance(expected, dict) and _written(value) in expected


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    return repr(value) if value.__class__ is int else json.dumps(value)


def _claims(keys: _Keys) -> frozenset[str]:
    return CLAIMS.get(str(keys[1]), frozenset()) if keys[:1] == ("sw",) and len(keys) > 1 else frozenset()


def _lines(text: str) -> tuple[dict[_Keys, int], dict[_Keys, int]]:
    """The line of every field and entry by the keys and places leading to it, and of duplicate ones."""
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
