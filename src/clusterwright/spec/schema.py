"""Checking a document against its JSON Schema (2020-12): findings in words, on the line that caused them.

Schemas are the files ``<name>.schema.json`` of one folder and may refer to each other; no network is asked. What a
string may hold stands in ``strings.schema.json``, by kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource
from referencing.jsonschema import DRAFT202012

from clusterwright import data_files
from clusterwright.finding import Finding, Severity
from clusterwright.spec.patterns import compiled
from clusterwright.spec.schema_words import causes, findings_of
from clusterwright.spec.text_lines import broken_lines

if TYPE_CHECKING:
    from clusterwright.spec.document import Document

MAX_FINDINGS = 50
# Errors looked at before the first MAX_FINDINGS in the order of the file are chosen.
_MAX_ERRORS = 1000


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """The keyword ``pattern`` as JSON Schema means it: a regular expression of ECMA-262."""
    del schema
    if validator.is_type(instance, "string") and not compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


# JSON calls 3.0 an integer; a count written so is a slip, and would reach the plan as a float.
_Validator = extend(  # type: ignore[no-untyped-call]  # jsonschema leaves it untyped
    Draft202012Validator,
    validators={"pattern": _pattern},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def check(document: Document, schema_name: str, folder: FilePath | None = None) -> list[Finding]:
    """What ``<schema_name>.schema.json`` objects to in ``document``, in the order of the file, at most MAX_FINDINGS.

    ``folder`` is where the schemas lie; the published ones when left out. Codes given out here: CW110 (unknown key),
    CW111 (missing key), CW112 (wrong type), CW113 (value not allowed), CW114 (out of bounds), CW172 (text of more than
    one line), CW119 (more than can be shown).
    Raises FileNotFoundError when there is no such schema.
    """
    validator = _validator(folder or data_files.folder("inventory") / "schema", schema_name)
    found: dict[tuple[Any, ...], Finding] = {}
    broken = dict(islice(broken_lines(document), _MAX_ERRORS))
    for error in causes(list(islice(validator.iter_errors(document.data), _MAX_ERRORS))):
        for finding in findings_of(error, document):
            if finding.path not in broken:  # what has two lines misses its pattern for that reason
                found.setdefault((*finding.sort_key(), finding.path), finding)
    for finding in broken.values():
        found[(*finding.sort_key(), finding.path)] = finding
    findings = sorted(found.values(), key=Finding.sort_key)
    if len(findings) <= MAX_FINDINGS:
        return findings
    shown = findings[:MAX_FINDINGS]
    rest = len(findings) - MAX_FINDINGS
    more = Finding(
        "CW119",
        Severity.NOTE,
        f"{rest} more findings of the schema are not shown.",
        "Mend those above first; one cause often explains many.",
        shown[-1].position,
    )
    return [*shown, more]


@cache
def _validator(folder: FilePath, name: str) -> Any:
    schema = _load(folder, f"{name}.schema.json")

    def retrieve(uri: str) -> Resource[Any]:
        if "/" in uri or not (folder / uri).is_file():
            raise NoSuchResource(uri)
        return Resource.from_contents(_load(folder, uri), default_specification=DRAFT202012)

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]  # attrs alias, unknown to mypy
    return _Validator(schema, registry=registry)


def _load(folder: FilePath, file: str) -> Any:
    return json.loads((folder / file).read_text(encoding="utf-8"))
