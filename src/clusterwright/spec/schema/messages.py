"""JSON Schema errors in words: the mistake in terms of the spec, a correction, and the place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias

from clusterwright.and_more import and_more
from clusterwright.finding import Amendment, Finding, Severity
from clusterwright.nearest_name import SURE, did_you_mean, nearest, only_one_near
from clusterwright.spec.schema.patterns import compiled
from clusterwright.spec.text.document import Document, Path, format_path
from clusterwright.spec.text.extends import identity
from clusterwright.spec.text.scalars import describe

# jsonschema.ValidationError; its published types declare every attribute possibly unset although none is here.
SchemaError: TypeAlias = Any

UNKNOWN_KEY = "CW110"
MISSING_KEY = "CW111"
WRONG_TYPE = "CW112"
NOT_ALLOWED = "CW113"
OUT_OF_BOUNDS = "CW114"

_TYPE_WORDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "nothing",
    "number": "a number",
    "object": "a mapping",
    "string": "text",
}
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
_TRUTH_WORDS = frozenset({"yes", "no", "on", "off", "y", "n"})
_MAX_LISTED = 24
_ORIGIN = [["source"], ["assumed"]]
_FORMS = frozenset({"anyOf", "oneOf"})
_REQUIRED = frozenset({"required", "dependentRequired"})
_UNKNOWN = frozenset({"additionalProperties", "unevaluatedProperties"})


def causes(errors: Sequence[SchemaError]) -> list[SchemaError]:
    """``errors`` without consequences of others: one finding for one mistake.

    A value of the wrong type is not measured as well. Keys missing for a mapping's form are not reported while its keys
    or their values are wrong, because they decide the form, or while it lacks keys of every form.
    """
    outermost_first = sorted(errors, key=lambda error: len(error.absolute_schema_path))
    mistyped: dict[Path, SchemaError] = {}
    for error in outermost_first:
        if error.validator == "type":
            mistyped.setdefault(tuple(error.absolute_path), error)
    unsettled = set()
    for error in errors:
        place = tuple(error.absolute_path)
        if error.validator in _UNKNOWN:
            unsettled.add(place)
        elif error.validator == "required":
            if not _is_of_a_form(error):
                unsettled.add(place)
        elif error.validator not in {*_FORMS, *_REQUIRED} and place:
            unsettled.add(place[:-1])
    leaf_errors: list[SchemaError] = []
    for error in errors:
        place = tuple(error.absolute_path)
        is_consequence = place in mistyped and mistyped[place] is not error
        if not is_consequence and not (_is_of_a_form(error) and place in unsettled):
            leaf_errors.append(error)
    return leaf_errors


def _is_of_a_form(error: SchemaError) -> bool:
    if error.validator not in _REQUIRED:
        return error.validator in _FORMS
    words = list(error.absolute_schema_path)
    is_otherwise = words[-2:-1] == ["else"] and "properties" not in error.schema
    return "then" in words or is_otherwise


def findings_of(error: SchemaError, document: Document) -> Iterator[Finding]:
    """The findings of one error of jsonschema; more than one for several keys with the same fault."""
    path = tuple(error.absolute_path)
    if error.validator in _FORMS:
        yield from _alternatives(error, path, document)
    elif "propertyNames" in error.relative_schema_path:
        yield _key_name(error, path, document)
    elif error.validator in _UNKNOWN:
        yield from _unknown_keys(error, path, document)
    elif error.validator in _REQUIRED:
        yield from _missing_keys(error, path, document)
    else:
        yield _value(error, path, document)


def unknown_keys(error: SchemaError) -> Iterator[str]:
    """The keys that ``error`` refuses as unknown, or for the form of their names."""
    if "propertyNames" in error.relative_schema_path:
        yield error.instance
    elif error.validator in _UNKNOWN:
        schema = _mapping(error.schema)
        allowed = list(_mapping(schema.get("properties")))
        patterns = list(_mapping(schema.get("patternProperties")))
        for key in error.instance:
            if key not in allowed and not any(compiled(pattern).search(key) for pattern in patterns):
                yield key


def _finding(
    code: str,
    message: str,
    hint: str,
    path: Path,
    document: Document,
    *,
    key: bool = False,
    place: Path | None = None,
) -> Finding:
    """A finding at ``path`` that leaves ``place`` in doubt, by default the same."""
    position, shown = document.locate(path, key=key), format_path(path, document.data)
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=f"{message}.",
        hint=hint,
        position=position,
        path=shown,
        place=path if place is None else place,
    )


def _place(path: Path, document: Document) -> str:
    return format_path(path, document.data) or "the top level"


def _unknown_keys(error: SchemaError, path: Path, document: Document) -> Iterator[Finding]:
    allowed = list(_mapping(_mapping(error.schema).get("properties")))
    unused = [key for key in allowed if key not in error.instance]
    for key in unknown_keys(error):
        message = f'unknown key "{key}" in {_place(path, document)}'
        hint = (_suggestion(key, unused) or _suggestion(key, allowed)) + f"Allowed here: {_listed(allowed)}."
        place = _meant_by(key, unused, path)
        finding = _finding(UNKNOWN_KEY, message, hint, (*path, key), document, key=True, place=place)
        yield _renamable(finding, key, allowed)


def _renamable(finding: Finding, key: str, allowed: Sequence[str]) -> Finding:
    """``finding`` about an unknown ``key``, with its only possible correction out of ``allowed``."""
    key_meant = only_one_near(key, allowed)
    return finding if key_meant is None else replace(finding, amendment=Amendment.RENAME_KEY, instead=key_meant)


def _meant_by(key: str, unused: Sequence[str], path: Path) -> Path:
    """The place left in doubt by an unknown key: that of the key it probably stands for, or none."""
    key_meant = nearest(key, unused)
    return (*path, key_meant) if key_meant is not None else ()


def _missing_keys(error: SchemaError, path: Path, document: Document) -> Iterator[Finding]:
    wanted: Sequence[str]
    if error.validator == "required":
        wanted = _names(error.validator_value)
        because = ""
    else:
        key = next(key for key, names in error.validator_value.items() if key in error.instance and names)
        wanted, because = _names(error.validator_value[key]), f", which {key}: needs beside it"
    missing = [name for name in wanted if name not in error.instance and name not in _meant(error)]
    if not missing:
        return
    *first_keys, last_key = [f'"{name}"' for name in missing]
    keys = f"{', '.join(first_keys)} and {last_key}" if first_keys else last_key
    noun = "keys" if first_keys else "key"
    message = f"{_place(path, document)} lacks the {noun} {keys}{because}"
    hint = _missing_hint(error, missing, path, document)
    yield _finding(MISSING_KEY, message, hint, path, document, place=path or (missing[0],))


def _meant(error: SchemaError) -> set[str]:
    """The keys behind misspelt ones, reported by the findings about these."""
    schema = _mapping(error.schema)
    is_closed = any(schema.get(word) is False for word in _UNKNOWN)
    if not is_closed:
        return set()
    allowed = _mapping(schema.get("properties"))
    unused = [key for key in allowed if key not in error.instance]
    meant = set()
    for key in error.instance:
        similar = nearest(key, unused) if key not in allowed else None
        if similar is not None:
            meant.add(similar)
    return meant


def _missing_hint(error: SchemaError, missing: Sequence[str], path: Path, document: Document) -> str:
    keys = ", ".join(f"`{name}:`" for name in missing)
    suggestion = _similar_item(error, path, document)
    if suggestion:
        return f"{suggestion} An item that the base does not have needs {keys}."
    description = ""
    if len(missing) == 1:
        properties = _mapping(_mapping(error.schema).get("properties"))
        description = str(_mapping(properties.get(missing[0])).get("description", ""))
    return f"Add {keys}. {description}".rstrip()


def _similar_item(error: SchemaError, path: Path, document: Document) -> str:
    """A question about a similar item of the base, for an item of the overlay's list; "" without one."""
    item = identity(error.instance)
    is_list_item = bool(path) and isinstance(path[-1], int)
    if not item or not is_list_item or len(document.files) <= 1 or document.locate(path).file != document.file:
        return ""
    names = []
    for sibling in document.at(path[:-1]):
        sibling_identity = identity(sibling)
        if sibling_identity and sibling_identity != item:
            names.append(str(sibling_identity[1]))
    return did_you_mean(str(item[1]), names, likeness=SURE)


def _key_name(error: SchemaError, path: Path, document: Document) -> Finding:
    name = error.instance
    name_path = (*path, name)
    if error.validator == "enum":
        allowed = [str(value) for value in error.validator_value]
        hint = _suggestion(name, allowed) + f"Allowed here: {_listed(allowed)}."
        message = f'unknown key "{name}" in {_place(path, document)}'
        place = _meant_by(name, [key for key in allowed if document.at((*path, key)) is None], path)
        return _renamable(
            _finding(UNKNOWN_KEY, message, hint, name_path, document, key=True, place=place), name, allowed
        )
    message = f'"{name}" cannot be a key of {_place(path, document)}: {_bound(error)}'
    return _finding(OUT_OF_BOUNDS, message, _described(error, "Choose another name."), name_path, document, key=True)


def _alternatives(error: SchemaError, path: Path, document: Document) -> Iterator[Finding]:
    if not isinstance(error.instance, dict) and _mapping(error.schema).get("type") == "object":
        return  # the wrong type has a finding of its own
    branches: list[Any] = list(error.validator_value)
    needs = [_names(_mapping(branch).get("required")) for branch in branches]
    if isinstance(error.instance, dict) and all(needs) and all(set(branch) == {"required"} for branch in branches):
        yield _choice_of_keys(error, needs, path, document)
        return
    by_branch: dict[int, list[SchemaError]] = {}
    for inner in error.context or ():
        by_branch.setdefault(int(inner.schema_path[0]), []).append(inner)
    if len(by_branch) < len(branches):
        message = f"{_place(path, document)} fits more than one of the forms allowed there"
        yield _finding(NOT_ALLOWED, message, "Keep the keys of one form.", path, document)
        return
    inner_errors = chain.from_iterable(by_branch.values())
    type_errors = [inner for inner in inner_errors if inner.validator == "type" and not inner.path]
    if len({inner.schema_path[0] for inner in type_errors}) == len(branches):
        wanted = dict.fromkeys(chain.from_iterable(_types(inner.validator_value) for inner in type_errors))
        yield _wrong_type(error.instance, list(wanted), path, document)
        return
    for inner in min(by_branch.values(), key=_distance):
        yield from findings_of(inner, document)


def _distance(errors: list[SchemaError]) -> tuple[int, int, int]:
    """Distance of a branch from the value: another type or discriminator first, then the number of errors."""
    types = sum(1 for error in errors if error.validator == "type" and not error.path)
    consts = sum(1 for error in errors if error.validator == "const")
    return types, consts, len(errors)


def _choice_of_keys(error: SchemaError, needs: Sequence[Sequence[str]], path: Path, document: Document) -> Finding:
    place = _place(path, document)
    choices = ", or ".join(map(_all_keys, needs))
    complete = [names for names in needs if all(name in error.instance for name in names)]
    if len(complete) > 1:
        both = _all_keys(list(chain.from_iterable(complete)))
        message = f"{place} has {both}, which exclude each other"
        return _finding(NOT_ALLOWED, message, "Keep one of them.", (*path, complete[-1][0]), document, key=True)
    finding = _finding(MISSING_KEY, f"{place} needs {choices}", "Add one of them.", path, document)
    if [list(names) for names in needs] == _ORIGIN:
        return replace(finding, amendment=Amendment.STATE_ORIGIN)
    return finding


def _all_keys(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}:`" for name in names)


def _value(error: SchemaError, path: Path, document: Document) -> Finding:
    if error.validator == "type":
        return _wrong_type(error.instance, _types(error.validator_value), path, document)
    place = _place(path, document)
    if error.validator in {"enum", "const"}:
        values = error.validator_value if error.validator == "enum" else [error.validator_value]
        allowed = [_yaml_text(value) for value in values]
        hint = _suggestion(str(error.instance), allowed) + f"Allowed here: {_listed(allowed)}."
        return _finding(NOT_ALLOWED, f"{place} cannot be {_shown(error.instance)}", hint, path, document)
    message = f"{place} is {_shown(error.instance)}, but {_bound(error)}"
    finding = _finding(OUT_OF_BOUNDS, message, _described(error, "Change it."), path, document)
    return replace(finding, amendment=Amendment.DROP_REPEATED) if error.validator == "uniqueItems" else finding


def _yaml_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong_type(value: Any, wanted: Sequence[str], path: Path, document: Document) -> Finding:
    expected = " or ".join(_TYPE_WORDS.get(word, word) for word in wanted)
    hint = f"Write {expected}."
    if "array" in wanted and value is not None:
        hint = "Begin each item with a dash, or put brackets around it."
    elif isinstance(value, str):
        if "boolean" in wanted and value.lower() in _TRUTH_WORDS:
            hint = "Write true or false; yes, no, on and off are text."
        elif _is_quoted_number(value, wanted):
            hint = "Remove its quotes."
    elif "string" in wanted and isinstance(value, int | float):
        hint = "Put it in quotes."
    elif value is None:
        hint = f"Write {expected} after the colon, or leave the key out."
    place = _place(path, document)
    return _finding(WRONG_TYPE, f"{place} must be {expected}, not {describe(value)}", hint, path, document)


def _is_quoted_number(text: str, wanted: Sequence[str]) -> bool:
    """Whether ``text`` without its quotes would be a number of a wanted type."""
    if _NUMBER.fullmatch(text) is None:
        return False
    return "number" in wanted or ("integer" in wanted and "." not in text)


_BOUNDS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "needs at least {} characters",
    "maxLength": "can have at most {} characters",
    "minItems": "needs at least {} items",
    "maxItems": "can have at most {} items",
    "minProperties": "needs at least {} keys",
    "maxProperties": "can have at most {} keys",
    "uniqueItems": "must not say anything twice",
    "pattern": "must match {}",
}


def _bound(error: SchemaError) -> str:
    text = _BOUNDS.get(str(error.validator))
    if text is None:
        return f"must satisfy {error.validator}"
    return text.format(error.validator_value)


def _described(error: SchemaError, otherwise: str) -> str:
    """The schema's description of the value; the best advice for a missed pattern or bound."""
    return str(_mapping(error.schema).get("description", otherwise))


def _suggestion(word: str, names: Sequence[str]) -> str:
    question = did_you_mean(word, names)
    return f"{question} " if question else ""


def _listed(words: Sequence[str]) -> str:
    return and_more(words, _MAX_LISTED) or "nothing"


def _shown(value: Any) -> str:
    return describe(value).removeprefix("the text ").removeprefix("the number ")


def _types(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _names(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
