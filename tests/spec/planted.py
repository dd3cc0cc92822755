"""Every place of the cluster schema where a string may stand, and specs with other text planted there."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright import data_files
from clusterwright.spec.schema.patterns import compiled
from clusterwright.spec.text.document import Path

FOLDER = data_files.folder("inventory") / "schema"
CLUSTER: dict[str, Any] = json.loads((FOLDER / "cluster.schema.json").read_text())
SCHEMA: dict[str, Any] = {"$defs": CLUSTER["$defs"], **CLUSTER["else"]}
KINDS: dict[str, Any] = json.loads((FOLDER / "strings.schema.json").read_text())["$defs"]

# What the formats that are rendered would take for something else than text.
NASTY = (
    *('"', "'", "\\", "`touch pwned`", "$(touch pwned)", "${IFS}", "%n", "%%", "{{ 7 * 7 }}", "{% raw %}", "{# x #}"),
    *("<script>alert(1)</script>", "-->", "]]>", "&lt;", "; touch pwned", "| touch pwned", "&& touch pwned"),
    *("#c", "!x", " EOF", " end", "*/", ": y", "=1+1", ",z", "[0]", "..", "/../x", " two", "@x", "~", "ü"),
)
CONTROL = ("\n", "\r\n", "\nx: y", "\nusername guest nopassword", "\t", "\x00", "\x1b[2J", "\x85", "\u2028")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string in a spec: where it stands, of which place of the schema it is one, and what the schema says of it."""

    path: Path
    place: str
    schema: Mapping[str, Any]


def places(schema: Any = SCHEMA, place: str = "", seen: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every place of the schema at which a string stands, with its schema; ``[]`` stands for any item, ``{}`` a key."""
    reference = str(schema.get("$ref", ""))
    name = reference.rpartition("/")[2]
    if reference.startswith("strings.schema.json"):
        yield place, KINDS[name] | {key: value for key, value in schema.items() if key == "maxLength"} | {"kind": name}
    elif reference and reference not in seen:
        yield from places(SCHEMA["$defs"][name], place, (*seen, reference))
    for key, below in schema.get("properties", {}).items():
        yield from places(below, f"{place}.{key}", seen)
    for word, mark in (("items", "[]"), ("additionalProperties", "{}"), ("propertyNames", "{key}")):
        if isinstance(schema.get(word), dict):
            yield from places(schema[word], place + mark, seen)
    if "else" in schema and schema.get("if") == {"type": "array"}:  # one or a list of them
        yield from places(schema["then"], place, seen)
        yield from places(schema["else"], place, seen)
    for below in schema.get("oneOf", ()):
        if "required" not in below:
            yield from places(below, place, seen)


def leaves(data: Any, known: Mapping[str, Any], path: Path = (), place: str = "") -> Iterator[Leaf]:
    """The strings of a spec that stand where the schema has one, outermost first."""
    if isinstance(data, str) and place in known:
        yield Leaf(path, place, known[place])
    elif isinstance(data, dict):
        for key, below in data.items():
            own = f"{place}.{key}"
            is_own = any(name == own or name.startswith((f"{own}.", f"{own}[", f"{own}{{")) for name in known)
            yield from leaves(below, known, (*path, key), own if is_own else f"{place}{{}}")
    elif isinstance(data, list):
        for index, below in enumerate(data):
            yield from leaves(below, known, (*path, index), f"{place}[]")


def holds(schema: Mapping[str, Any], text: str) -> bool:
    """Whether the schema of a place lets ``text`` pass."""
    return compiled(schema["pattern"]).search(text) is not None and len(text) <= schema.get("maxLength", len(text))


def worst(schema: Mapping[str, Any], text: str) -> str:
    """``text`` with all behind it that the schema of its place lets pass."""
    for nasty in NASTY:
        if holds(schema, text + nasty):
            text += nasty
    return text


def with_texts(data: Any, texts: Mapping[Path, str]) -> Any:
    """A copy of ``data`` with other strings at these paths."""
    data = copy.deepcopy(data)
    for path, text in texts.items():
        here = data
        for part in path[:-1]:
            here = here[part]
        here[path[-1]] = text
    return data
