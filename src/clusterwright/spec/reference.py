"""The spec reference: one Markdown table for every object of a JSON Schema, made from its descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def spec_reference(schema: Schema, introduction: str) -> str:
    """A Markdown page: the keys of the whole document, then those of every named object in the schema's order."""
    sections = [f"# {schema['title']}", introduction, _section("The whole document", schema, schema["$defs"])]
    for name, definition in schema["$defs"].items():
        if definition.get("type") == "object":
            sections.append(_section(name, definition, schema["$defs"]))
    return "\n\n".join(sections) + "\n"


def _section(title: str, definition: Schema, named: Schema) -> str:
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
        target = named[_name(value)] if "$ref" in value else {}
        meaning = value.get("description") or target.get("description", "")
        lines.append(f"| `{key}`{mark} | {_cell(_kind(value, named))} | {_cell(meaning)} |")
    return "\n".join(lines)


def _name(value: Schema) -> str:
    return str(value["$ref"]).rsplit("/", 1)[1]


def _kind(value: Schema, named: Schema) -> str:
    """What may stand there, in words: a link for objects with a table of their own."""
    if "$ref" in value:
        name = _name(value)
        return f"[{name}](#{name})" if named[name].get("type") == "object" else _kind(named[name], named)
    if "const" in value:
        return f"`{_literal(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{_literal(item)}`" for item in value["enum"])
    if "oneOf" in value:
        return " or ".join(_kind(item, named) for item in value["oneOf"])
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_kind(value['items'], named)}"
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if "minimum" in value and "maximum" in value:
        return f"{kind}, {value['minimum']:,} to {value['maximum']:,}"
    if "minimum" in value:
        return f"{kind}, at least {value['minimum']:,}"
    return str(kind)


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
