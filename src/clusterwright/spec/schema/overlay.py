"""Schema of a spec that extends another: the whole spec's schema, without required keys.

A file with ``extends`` changes some keys of its base. All others come from the base, a ``null`` removes a key, and
combinations of keys are checked after the merge. Names and types of all keys stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.text.extends import IDENTITY_KEYS

Schema = Mapping[str, Any]

# Requirements of keys, or of a number of them: the base has the others, and a null that removes one counts too.
_DEMANDS = frozenset({"required", "minItems", "minProperties", "maxProperties", "dependentRequired", "default"})
_FORMS = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "not"})
_NONE = {"type": "null"}
_REMOVE = {"const": True, "description": "Leave this item of the base out."}


def overlay_of(cluster: Schema) -> dict[str, Any]:
    """The schema of files extending a spec, from that of whole specs; it refers to the same kinds of strings."""
    return {
        "$schema": cluster["$schema"],
        "title": "clusterwright cluster spec that extends another",
        "description": "Made of cluster.schema.json: the same keys, of which none must be there.",
        **{word: value for word, value in _loosened(cluster["else"]).items() if word != "description"},
        "$defs": {name: _or_none(below) for name, below in cluster["$defs"].items()},
    }


def _loosened(schema: Schema) -> dict[str, Any]:
    """``schema`` for a part of a value."""
    keys = schema.get("properties")
    loosened: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _DEMANDS or (word in _FORMS and keys is not None):
            continue
        if word in ("items", "then"):
            loosened[word] = _loosened(value)
        elif word in ("anyOf", "oneOf"):
            loosened[word] = [_loosened(part) for part in value]
        else:
            loosened[word] = value
    if keys is not None:
        loosened["properties"] = {key: _or_none(below) for key, below in keys.items()}
        if not keys.keys().isdisjoint(IDENTITY_KEYS):
            loosened["properties"].setdefault("remove", _REMOVE)
    return loosened


def _or_none(schema: Schema) -> dict[str, Any]:
    """The value at a key, or the ``null`` that removes the key of the base."""
    loosened = _loosened(schema)
    if "$ref" in loosened:
        if loosened["$ref"].startswith("#"):
            return loosened  # its target may include null itself
        description = {"description": loosened.pop("description")} if "description" in loosened else {}
        return {**description, "anyOf": [loosened, _NONE]}
    if "else" in loosened:
        loosened["else"] = _or_none(loosened["else"])
    if "const" in loosened:
        loosened["enum"] = [loosened.pop("const")]
    if "enum" in loosened:
        loosened["enum"] = [*loosened["enum"], None]
    for form in ("anyOf", "oneOf"):
        if form in loosened:
            loosened[form] = [*loosened[form], _NONE]
    if "type" in loosened:
        kinds = loosened["type"] if isinstance(loosened["type"], list) else [loosened["type"]]
        loosened["type"] = [*kinds, "null"]
    return loosened
