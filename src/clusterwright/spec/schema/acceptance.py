"""Fast validation against a JSON Schema (2020-12): yes or no, by functions compiled from the schema once.

Most files are valid. This takes a twentieth of the time of importing and running jsonschema: its import alone takes 74
ms of processor time, of 240 of a hook that lints one spec. jsonschema runs only for files refused here, to explain why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterwright.spec.schema.patterns import compiled

Accepts = Callable[[Any], bool]
Schemas = Callable[[str], Any]
"""The schemas by the names of their files."""


class UnknownKeywordError(ValueError):
    """A schema has a keyword unsupported here."""


# Keywords without an effect on validity; `format` is an annotation unless a validator is configured otherwise.
_SILENT = frozenset(
    {"$comment", "$defs", "$id", "$schema", "default", "description", "examples", "format", "title", "x-since"}
)
_SILENT |= {"x-unordered"}
_TYPES: Mapping[str, Accepts] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    # JSON calls 3.0 an integer; a count written this way is a mistake, and would reach the plan as a float.
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def is_integer(value: Any) -> bool:
    """Whether the schemas accept ``value`` as an integer: neither a truth value nor a number such as 3.0."""
    return _TYPES["integer"](value)


def acceptance(schemas: Schemas, file: str) -> Accepts:
    """The validity check of the schema in ``file``, which may refer to the others by their file names.

    Raises UnknownKeywordError for an unsupported keyword, at once or at the first use of a reference to it.
    """
    return _Maker(schemas).of(schemas(file), file)


def references(schemas: Schemas) -> Callable[[str, str], Accepts]:
    """A function from a ``$ref`` and its file of ``schemas`` to the validity check of its target.

    The check raises UnknownKeywordError at its first use for an unsupported keyword.
    """
    maker = _Maker(schemas)
    return lambda wanted, file: maker.reference(wanted, None, file)


class _Maker:
    """Compiles schemas to functions; the target of a reference is compiled at its first use."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas
        self.referred: dict[tuple[str, str], Accepts] = {}

    def of(self, schema: Any, file: str) -> Accepts:
        if isinstance(schema, bool):
            return lambda _: schema
        checks: list[Accepts] = []
        if schema.keys() & _ENTRIES:
            checks.append(self._entries(schema, file))
        for word, wanted in schema.items():
            if word in _SILENT or word in _ENTRIES or word in {"then", "else"}:
                continue
            if word in _PLAIN:
                kind, fits = _PLAIN[word]
                checks.append(_plain(kind, fits, wanted))
            elif word in _NESTED:
                checks.append(_NESTED[word](self, wanted, schema, file))
            else:
                raise UnknownKeywordError(word)
        return checks[0] if len(checks) == 1 else _all_of(checks)

    def _entries(self, schema: Any, file: str) -> Accepts:
        property_checks = {key: self.of(below, file) for key, below in schema.get("properties", {}).items()}
        by_pattern = [
            (compiled(pattern).search, self.of(below, file))
            for pattern, below in schema.get("patternProperties", {}).items()
        ]
        others = self.of(schema.get("additionalProperties", True), file)

        def accepts(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            for key, below in value.items():
                checks = [property_checks[key]] if key in property_checks else []
                checks += [check for matches, check in by_pattern if matches(key)]
                for check in checks or (others,):
                    if not check(below):
                        return False
            return True

        return accepts

    def reference(self, wanted: str, _: Any, file: str) -> Accepts:
        target_file, _, pointer = wanted.partition("#")
        place = target_file or file, pointer

        def accepts(value: Any) -> bool:
            if place not in self.referred:
                schema = self.schemas(place[0])
                for part in pointer.split("/")[1:]:
                    schema = schema[part]
                self.referred[place] = self.of(schema, place[0])
            return self.referred[place](value)

        return accepts

    def items(self, wanted: Any, _: Any, file: str) -> Accepts:
        check = self.of(wanted, file)
        return lambda value: not isinstance(value, list) or all(map(check, value))

    def names(self, wanted: Any, _: Any, file: str) -> Accepts:
        check = self.of(wanted, file)
        return lambda value: not isinstance(value, dict) or all(map(check, value))

    def all_of(self, wanted: Any, _: Any, file: str) -> Accepts:
        return _all_of([self.of(schema, file) for schema in wanted])

    def any_of(self, wanted: Any, _: Any, file: str) -> Accepts:
        checks = [self.of(schema, file) for schema in wanted]
        return lambda value: any(check(value) for check in checks)

    def one_of(self, wanted: Any, _: Any, file: str) -> Accepts:
        checks = [self.of(schema, file) for schema in wanted]
        return lambda value: sum(check(value) for check in checks) == 1

    def none_of(self, wanted: Any, _: Any, file: str) -> Accepts:
        check = self.of(wanted, file)
        return lambda value: not check(value)

    def condition(self, wanted: Any, schema: Any, file: str) -> Accepts:
        holds = self.of(wanted, file)
        then, otherwise = (self.of(schema.get(word, True), file) for word in ("then", "else"))
        return lambda value: then(value) if holds(value) else otherwise(value)


_ENTRIES = frozenset({"properties", "patternProperties", "additionalProperties"})
_NESTED: Mapping[str, Callable[[_Maker, Any, Any, str], Accepts]] = {
    "$ref": _Maker.reference,
    "allOf": _Maker.all_of,
    "anyOf": _Maker.any_of,
    "if": _Maker.condition,
    "items": _Maker.items,
    "not": _Maker.none_of,
    "oneOf": _Maker.one_of,
    "propertyNames": _Maker.names,
}


def _all_of(checks: list[Accepts]) -> Accepts:
    def accepts(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  # a generator costs more than all of its calls
            if not check(value):
                return False
        return True

    return accepts


def _plain(kind: str | None, fits: Callable[[Any, Any], bool], wanted: Any) -> Accepts:
    if kind is None:
        return lambda value: fits(value, wanted)
    is_kind = _TYPES[kind]
    return lambda value: not is_kind(value) or fits(value, wanted)


def _same(value: Any) -> Any:
    """A key with JSON's equality: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, bool):
        return "true" if value else "false", bool
    if isinstance(value, list):
        return tuple(map(_same, value)), list
    if isinstance(value, dict):
        return frozenset((key, _same(below)) for key, below in value.items()), dict
    return value


def _is_multiple(value: Any, step: Any) -> bool:
    quotient = value / step
    if isinstance(step, float):
        return bool(int(quotient) == quotient)
    return bool(value % step == 0)


def _is_of(value: Any, types: Any) -> bool:
    return _TYPES[types](value) if isinstance(types, str) else any(_TYPES[name](value) for name in types)


# For each keyword the type of values that it applies to, None for any, and its check of a value.
_PLAIN: Mapping[str, tuple[str | None, Callable[[Any, Any], bool]]] = {
    "const": (None, lambda value, wanted: bool(_same(value) == _same(wanted))),
    "dependentRequired": (
        "object",
        lambda value, wanted: all(value.keys() >= set(needs) for key, needs in wanted.items() if key in value),
    ),
    "enum": (None, lambda value, wanted: _same(value) in [_same(option) for option in wanted]),
    "exclusiveMaximum": ("number", lambda value, bound: bool(value < bound)),
    "exclusiveMinimum": ("number", lambda value, bound: bool(value > bound)),
    "maxItems": ("array", lambda value, bound: len(value) <= bound),
    "maxLength": ("string", lambda value, bound: len(value) <= bound),
    "maxProperties": ("object", lambda value, bound: len(value) <= bound),
    "maximum": ("number", lambda value, bound: bool(value <= bound)),
    "minItems": ("array", lambda value, bound: len(value) >= bound),
    "minLength": ("string", lambda value, bound: len(value) >= bound),
    "minProperties": ("object", lambda value, bound: len(value) >= bound),
    "minimum": ("number", lambda value, bound: bool(value >= bound)),
    "multipleOf": ("number", _is_multiple),
    "pattern": ("string", lambda value, pattern: compiled(pattern).search(value) is not None),
    "required": ("object", lambda value, wanted: value.keys() >= set(wanted)),
    "type": (None, _is_of),
    "uniqueItems": ("array", lambda value, wanted: not wanted or len({_same(item) for item in value}) == len(value)),
}
