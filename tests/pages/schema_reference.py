"""The reference of a file's keys: one Markdown table for every object of its JSON Schema, made from its descriptions.

What the schema says of a key is said, or ``Unsaid`` is raised: a reference that leaves something out looks whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]

_TOLD_BY_KIND = {"title", "description", "default", "type", "$ref", "const", "enum", "oneOf", "items"}
_TOLD_BY_SECTION = {"properties", "required", "anyOf", "allOf", "if", "then", "else", "dependentRequired"}
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "multipleOf", "minItems", "maxItems", "minProperties"}
_BOUNDS |= {"maxProperties", "maxLength"}
# Of no use to who writes the file: no text may be empty, unique items are what a list of names is, and a key that is
# not in the table is refused.
_PASSED_OVER = {
    "examples",
    "minLength",
    "uniqueItems",
    "x-unordered",
    "propertyNames",
    "additionalProperties",
    "pattern",
    "format",
}
# How a description says what holds where the key is omitted: "…; the name when left out.", "… Without it nodes …".
_OMITTED = (
    re.compile(r"(?:^|[;.] )([^;.]*?),? when left out\b"),
    re.compile(r"\bWhen left out,? ([^.;]*)"),
    re.compile(r"(?:^|[;.] )[Ww]ithout (?:it|one|any),? ([^.;(]*[^.;( ])"),
)
_STATED = re.compile(r"\b(?:when|if|this is) left out\b|\b[Ww]ithout it\b")
_KNOWN = _TOLD_BY_KIND | _TOLD_BY_SECTION | _BOUNDS | _PASSED_OVER


class Unsaid(Exception):
    """The schema says something for which this page has no words."""


def schema_reference(schema: Schema, strings: Schema, introduction: str) -> str:
    """A Markdown page: the keys of the whole document, then those of every object in the schema's order, then the
    kinds of string that it refers to in ``strings``."""
    return _Page(schema, strings).text(introduction)


class _Page:
    def __init__(self, schema: Schema, strings: Schema) -> None:
        # A file that extends another has the same keys: the page is on those of a whole one.
        whole = schema.get("else", {})
        aside = {"if", "then", "else"} if "properties" in whole else set()
        self.schema = {**{word: value for word, value in schema.items() if word not in aside}, **whole}
        self.objects: Schema = schema.get("$defs", {})
        self.kinds: Schema = strings["$defs"]

    def text(self, introduction: str) -> str:
        parts = [f"# {self.schema['title']}", introduction]
        found = [("The whole document", "", self.schema)]
        found += [(name, name, each) for name, each in self.objects.items() if each.get("type") == "object"]
        for title, name, definition in found:
            parts += [self.section(title, definition, name), *self.inline(name, definition)]
        used = sorted({ref for ref in _referred(self.schema) if not ref.startswith("#")})
        return "\n\n".join([*parts, self.strings([ref.rsplit("/", 1)[1] for ref in used])]) + "\n"

    def inline(self, name: str, definition: Schema) -> Iterator[str]:
        """The sections of objects that stand within a key of another, without a name of their own."""
        for key, value in definition["properties"].items():
            place = f"{name}: {key}" if name else key
            for below in _objects_in(value):
                if "properties" in below:
                    yield self.section(place, below, place)
                    yield from self.inline(place, below)

    def section(self, title: str, definition: Schema, name: str) -> str:
        lines = [f"## {title}", "", definition.get("description", ""), ""]
        lines += ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
        required = frozenset(definition.get("required", ()))
        for key, value in definition["properties"].items():
            _know(value)
            meaning = value.get("description") or self.target(value).get("description", "")
            if "description" not in value and not str(value.get("$ref", "#")).startswith("#"):
                raise Unsaid(f"what {title}: {key} is for; what texts of its kind may hold is no answer")
            silent = "**required**" if key in required else _silence(value, meaning)
            kind = self.kind(value, f"{name}: {key}" if name else key)
            lines.append(f"| `{key}` | {_cell(kind)} | {_cell(silent)} | {_cell(meaning)} |")
        together = list(_conditions(definition))
        return "\n".join([*lines, *(["", *together] if together else [])])

    def strings(self, used: Sequence[str]) -> str:
        lines = [
            "## strings",
            "",
            "Permitted characters of a text, by its kind. No text contains a control character or the end of a line.",
        ]
        lines += ["", "| kind | permitted characters |", "| --- | --- |"]
        said = [f"| {name.replace('_', ' ')} | {_cell(self.kinds[name]['description'])} |" for name in used]
        return "\n".join([*lines, *said])

    def target(self, value: Schema) -> Schema:
        """What ``value`` refers to; nothing where it refers to nothing."""
        if "$ref" not in value:
            return {}
        place, name = str(value["$ref"]).split("#")[0], str(value["$ref"]).rsplit("/", 1)[1]
        found: Schema = (self.kinds if place else self.objects)[name]
        return found

    def kind(self, value: Schema, place: str) -> str:
        """What may stand there, in words; ``place`` is the title of the section on an object that has no name."""
        _know(value)
        if "$ref" in value:
            name = str(value["$ref"]).rsplit("/", 1)[1]
            if not value["$ref"].startswith("#"):
                return f"[{name.replace('_', ' ')}](#strings)"
            target = self.objects[name]
            return f"[{name}](#{name.lower()})" if target.get("type") == "object" else self.kind(target, place)
        if "const" in value:
            return f"`{_literal(value['const'])}`"
        if "enum" in value:
            return ", ".join(f"`{_literal(item)}`" for item in value["enum"])
        if "else" in value:
            return f"{self.kind(value['else'], place)}, or list of {self.kind(value['then']['items'], place)}"
        if "oneOf" in value:
            return " or ".join(self.kind(item, place) for item in value["oneOf"])
        if value.get("type") == "array":
            return f"list of {self.kind(value['items'], place)}{_bounds(value)}"
        if value.get("type") == "object":
            return self.mapping(value, place) + _bounds(value)
        names = value.get("type", "anything")
        return (" or ".join(names) if isinstance(names, list) else str(names)) + _bounds(value)

    def mapping(self, value: Schema, place: str) -> str:
        if "properties" in value:
            return f"[{place}](#{place.replace(': ', '-').lower()})"
        below = value.get("additionalProperties", True)
        if below is True:
            return "any keys and values"
        names = self.kind(value["propertyNames"], place) if "propertyNames" in value else "text"
        return f"{self.kind(below, place)} for each {names}"


def _silence(value: Schema, meaning: str) -> str:
    """What holds where the key is not there."""
    if "default" in value:
        return _default(value["default"])
    for clause in _OMITTED:
        match = clause.search(meaning)
        if match is not None:
            return match[1]
    if _STATED.search(meaning):
        raise Unsaid(f"what holds when the key is omitted, in words that a table can show: {meaning}")
    return "nothing"


def _conditions(definition: Schema) -> Iterator[str]:
    """What holds of several keys at once, as list items."""
    for key, needed in definition.get("dependentRequired", {}).items():
        yield f"- `{key}` needs {_names(needed)}."
    for word, each in (("Exactly one", "oneOf"), ("At least one", "anyOf")):
        if each in definition:
            ways = [_way(way) for way in definition[each]]
            yield f"- {word} of these: {'; '.join(ways)}."
    for part in (definition, *definition.get("allOf", ())):
        if "if" in part:
            where = _way(part["if"])
            if "then" in part:
                yield f"- With {where}: {_way(part['then'])}."
            if "else" in part:
                yield f"- Without {where}: {_way(part['else'])}."
        elif part is not definition:
            yield f"- Always: {_way(part)}."


def _way(way: Schema) -> str:
    """Keys that stand together, those that have one value with it, and those that may not be there."""
    values = {key: below for key, below in way.get("properties", {}).items() if below is not True}
    said = [f"`{key}` {_held(below)}" for key, below in values.items()]
    said += [f"`{key}`" for key in way.get("required", ()) if key not in values]
    for each in ("anyOf", "oneOf"):
        if each in way:
            said.append("one of " + ", ".join(_way(below) for below in way[each]))
    if "not" in way:
        said.append(f"no {_way(way['not']).replace('one of ', '').replace(', ', ' and no ')}")
    if "allOf" in way:
        said += [_way(below) for below in way["allOf"]]
    left = set(way) - {"properties", "required", "anyOf", "oneOf", "not", "allOf", "description"}
    if left or not said:
        raise Unsaid(f"a condition by {', '.join(sorted(left)) or 'nothing'}: {way}")
    return " and ".join(said)


def _held(value: Any) -> str:
    if value is False:
        return "left out"
    if "const" in value:
        return f"`{_literal(value['const'])}`"
    if "enum" in value:
        return " or ".join(f"`{_literal(item)}`" for item in value["enum"])
    if "not" in value:
        return f"other than {_held(value['not'])}"
    if "contains" in value:
        return f"with {_held(value['contains'])}"
    bounds = _bounds(value)
    if not bounds:
        raise Unsaid(f"a condition on a value: {value}")
    return bounds.removeprefix(", ")


def _bounds(value: Schema) -> str:
    low, high = value.get("minimum"), value.get("maximum")
    said = []
    if low is not None and high is not None:
        said.append(f"{low:,} to {high:,}")
    elif low is not None or high is not None:
        said.append(f"at least {low:,}" if low is not None else f"at most {high:,}")
    if "exclusiveMinimum" in value:
        said.append(f"more than {value['exclusiveMinimum']:,}")
    if "multipleOf" in value:
        said.append(f"a multiple of {value['multipleOf']:,}")
    if "maxLength" in value:
        said.append(f"at most {value['maxLength']:,} characters")
    few = value.get("minItems", value.get("minProperties"))
    many = value.get("maxItems", value.get("maxProperties"))
    if few is not None and few == many:
        said.append(f"exactly {few}")
    elif few is not None and many is not None:
        said.append(f"{few} to {many} of them")
    elif few is not None or many is not None:
        said.append(f"at least {few}" if few is not None else f"at most {many}")
    return "".join(f", {each}" for each in said)


def _know(value: Schema) -> None:
    unknown = set(value) - _KNOWN
    if unknown:
        raise Unsaid(f"the reference has no words for {', '.join(sorted(unknown))}")


def _objects_in(value: Schema) -> Iterator[Schema]:
    """The objects without a name of their own in a key's value."""
    if value.get("type") == "object":
        yield value
    for below in (*value.get("oneOf", ()), *([value["items"]] if "items" in value else [])):
        yield from _objects_in(below)


def _referred(value: Any) -> Iterator[str]:
    """Everything that ``value`` refers to."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield str(value["$ref"])
        for below in value.values():
            yield from _referred(below)
    elif isinstance(value, list):
        for below in value:
            yield from _referred(below)


def _names(keys: Sequence[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)


def _literal(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_literal(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(value: object) -> str:
    items = value if isinstance(value, list) else [value]
    return ", ".join(f"`{_literal(item)}`" for item in items) or "nothing"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
