"""The spec reference: one Markdown table for every object of a JSON Schema, made from its descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]


def spec_reference(schema: Schema, strings: Schema, introduction: str) -> str:
    """A Markdown page: the keys of the whole document, then those of every named object in the schema's order, then
    the kinds of string that it refers to in ``strings``."""
    objects: Schema = schema["$defs"]
    kinds: Schema = strings["$defs"]
    sections = [f"# {schema['title']}", introduction, _section("The whole document", schema, objects, kinds)]
    for name, definition in objects.items():
        if definition.get("type") == "object":
            sections.append(_section(name, definition, objects, kinds))
    sections.append(_strings(sorted(set(_referred(schema)) & set(kinds)), kinds))
    return "\n\n".join(sections) + "\n"


def _section(title: str, definition: Schema, objects: Schema, kinds: Schema) -> str:
    lines = [
        f"## {title}",
        "",
        definition.get("description", ""),
        "",
        "| key | value | meaning |",
        "| --- | --- | --- |",
    ]
    required = frozenset(definition.get("required", ()))
    for key, value in definition["properties"].items():
        mark = " (required)" if key in required else ""
        target = {**kinds, **objects}[_name(value)] if "$ref" in value else {}
        meaning = value.get("description") or target.get("description", "")
        if "default" in value:
            meaning += f" {_default(value['default'])} when left out."
        lines.append(f"| `{key}`{mark} | {_cell(_kind(value, objects))} | {_cell(meaning)} |")
    return "\n".join(lines)


def _strings(used: Sequence[str], kinds: Schema) -> str:
    lines = [
        "## strings",
        "",
        "What a text may hold, by its kind. None holds a control character or the end of a line.",
        "",
        "| kind | what it holds |",
        "| --- | --- |",
    ]
    return "\n".join(
        [*lines, *(f"| {name.replace('_', ' ')} | {_cell(kinds[name]['description'])} |" for name in used)]
    )


def _referred(value: Any) -> Iterator[str]:
    """The names of everything that ``value`` refers to."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield _name(value)
        for below in value.values():
            yield from _referred(below)
    elif isinstance(value, list):
        for below in value:
            yield from _referred(below)


def _name(value: Schema) -> str:
    return str(value["$ref"]).rsplit("/", 1)[1]


def _kind(value: Schema, objects: Schema) -> str:
    """What may stand there, in words: a link for objects with a table of their own, and for kinds of string."""
    if "$ref" in value:
        name = _name(value)
        if name not in objects:
            return f"[{name.replace('_', ' ')}](#strings)"
        return f"[{name}](#{name})" if objects[name].get("type") == "object" else _kind(objects[name], objects)
    if "const" in value:
        return f"`{_literal(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{_literal(item)}`" for item in value["enum"])
    if "oneOf" in value:
        return " or ".join(_kind(item, objects) for item in value["oneOf"])
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_kind(value['items'], objects)}"
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if "minimum" in value and "maximum" in value:
        return f"{kind}, {value['minimum']:,} to {value['maximum']:,}"
    if "minimum" in value:
        return f"{kind}, at least {value['minimum']:,}"
    return str(kind)


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_literal(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(value: object) -> str:
    items = value if isinstance(value, list) else [value]
    return ", ".join(f"`{_literal(item)}`" for item in items)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
