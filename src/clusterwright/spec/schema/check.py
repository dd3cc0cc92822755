"""Checking a document against its JSON Schema (2020-12): findings in words, on their lines.

Schemas are the files ``<name>.schema.json`` of one folder and may refer to each other, without network access.
``strings.schema.json`` defines the kinds of strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from clusterwright import data_files
from clusterwright.finding import Finding, Severity
from clusterwright.spec.schema.acceptance import Accepts, UnknownKeywordError, acceptance, is_integer, references
from clusterwright.spec.schema.messages import causes, findings_of, unknown_keys
from clusterwright.spec.schema.patterns import compiled
from clusterwright.spec.text.text_lines import broken_lines

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

    from clusterwright.spec.text.document import Document, Path

MAX_FINDINGS = 50
# Limit of errors before the first MAX_FINDINGS in the order of the file are selected.
_MAX_ERRORS = 1000
# Values for all types and most patterns of a spec, as possible stand-ins for a refused value.
_SAMPLES = (1, 0.5, True, "a", "a1", "/a", "1", "1-2", "1G", "10.0.0.0/8", "2001:db8::/32", "0x1", "2026-01-01", "a.b")


def check(document: Document, schema_name: str, folder: FilePath | None = None) -> list[Finding]:
    """Findings of ``<schema_name>.schema.json`` about ``document``, in the order of the file, at most MAX_FINDINGS.

    ``folder`` has the schemas, by default the published ones. Codes: CW110 (unknown key), CW111 (missing key), CW112
    (wrong type), CW113 (value not allowed), CW114 (out of bounds), CW172 (text of more than one line), CW119 (more
    findings than shown). Raises FileNotFoundError for an unknown schema.
    """
    schemas = folder or _published()
    broken = dict(islice(broken_lines(document), _MAX_ERRORS))
    if not broken and accepts(document.data, schema_name, schemas):
        return []
    validator = _validator(schemas, schema_name)
    finding_by_place: dict[tuple[Any, ...], Finding] = {}
    for error in causes(list(islice(validator.iter_errors(document.data), _MAX_ERRORS))):
        for finding in findings_of(error, document):
            if finding.path not in broken:  # a text of two lines fails its pattern for that reason
                finding_by_place.setdefault((*finding.sort_key(), finding.path), finding)
    for finding in broken.values():
        finding_by_place[(*finding.sort_key(), finding.path)] = finding
    findings = sorted(finding_by_place.values(), key=Finding.sort_key)
    if len(findings) <= MAX_FINDINGS:
        return findings
    shown = findings[:MAX_FINDINGS]
    rest = len(findings) - MAX_FINDINGS
    more = Finding(
        code="CW119",
        severity=Severity.NOTE,
        message=f"{rest} more findings of the schema are not shown.",
        hint="Fix those above first; one cause often explains many.",
        position=shown[-1].position,
    )
    return [*shown, more]


def accepts(data: Any, schema_name: str, folder: FilePath | None = None) -> bool:
    """Whether ``data`` is known to be valid; False for a schema with a keyword known only to jsonschema."""
    try:
        return _acceptance(folder or _published(), schema_name)(data)
    except UnknownKeywordError:
        return False


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused place: a value, a mapping with a missing key, or (``unknown``) an unknown key.

    ``instead`` has at most one value accepted at this place.
    """

    place: Path
    unknown: bool = False
    instead: tuple[str | int | float | bool, ...] = ()


def refused_places(data: Any, schema_name: str) -> list[Refused]:
    """Refusals of ``data`` by the published schema; a key missing at the top level has a separate refusal."""
    validator = _validator(_published(), schema_name)
    errors = islice(validator.iter_errors(data), _MAX_ERRORS)
    return list(chain.from_iterable(_refused(error, validator) for error in errors))


def _refused(error: Any, validator: Any) -> Iterator[Refused]:
    path = tuple(error.absolute_path)
    unknown = list(unknown_keys(error))
    if unknown:
        for key in unknown:
            yield Refused((*path, key), unknown=True)
    elif error.validator == "required" and not path:
        for key in error.validator_value:
            if key not in error.instance:
                yield Refused((key,))
    elif isinstance(error.instance, dict | list):
        yield Refused(path)
    else:
        yield Refused(path, instead=_accepted_samples(error.schema, validator))


def _accepted_samples(schema: Any, validator: Any) -> tuple[str | int | float | bool, ...]:
    """A value accepted by ``schema``; empty if no sample is."""
    keywords = schema if isinstance(schema, dict) else {}
    bounds = [keywords[word] for word in ("const", "minimum", "maximum") if word in keywords]
    sample_validator = validator.evolve(schema=keywords)
    for sample in (*keywords.get("enum", ()), *bounds, *_SAMPLES):
        if isinstance(sample, str | int | float) and sample_validator.is_valid(sample):
            return (sample,)
    return ()


def published(schema_name: str) -> Any:
    """The published schema of this name."""
    return _load(_published(), f"{schema_name}.schema.json")


@cache
def default_at(schema_name: str, keys: tuple[str, ...], none: Any = None) -> Any:
    """The schema's default for the value below ``keys``, else ``none``.

    ``keys`` are those of mappings; an item of a list has the place of its list.
    """
    node = whole = published(schema_name)
    for key in keys:
        node = _properties(whole, node).get(key, {})
    return node.get("default", none)


def _properties(whole: Any, node: Any) -> Mapping[str, Any]:
    """The keys of the objects of ``node``, itself or as items of a list; one object and several are alike."""
    node = node.get("else", node) if "properties" not in node else node
    node = node.get("items", node)
    reference = node.get("$ref", "")
    node = whole["$defs"][reference.rpartition("/")[2]] if reference.startswith("#/$defs/") else node
    properties: Mapping[str, Any] = node.get("properties", {})
    return properties


def _published() -> FilePath:
    return data_files.folder("inventory") / "schema"


@cache
def _acceptance(folder: FilePath, name: str) -> Accepts:
    return acceptance(partial(_load, folder), f"{name}.schema.json")


@cache
def _validator(folder: FilePath, name: str) -> Any:
    # The import takes a tenth of a second, needed only for files with errors.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    def pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        """The keyword ``pattern`` in JSON Schema's meaning: a regular expression of ECMA-262."""
        del schema
        if validator.is_type(instance, "string") and not compiled(pattern).search(instance):
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    leads_to, files = references(partial(_load, folder)), _files_of_parts(folder)
    plain = Draft202012Validator.VALIDATORS["$ref"]

    def reference(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        """The keyword ``$ref``. A valid value below it, as most values of a spec are, is not searched for errors."""
        try:
            is_well = leads_to(wanted, files[id(schema)])(instance)
        except UnknownKeywordError:
            is_well = False
        if not is_well:
            yield from plain(validator, wanted, instance, schema)

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: is_integer(value))
    words = {"pattern": pattern, "$ref": reference}
    kind = extend(Draft202012Validator, words, type_checker=types)  # type: ignore[no-untyped-call]
    # All files are loaded first: a retrieving registry forgets, and would read a file again at every reference to it.
    resources = []
    for file, content in _all(folder).items():
        resources.append((file, Resource.from_contents(content, default_specification=DRAFT202012)))
    registry: Registry[Any] = Registry().with_resources(resources).crawl()
    return kind(_load(folder, f"{name}.schema.json"), registry=registry)


def _all(folder: FilePath) -> Mapping[str, Any]:
    """Every schema in ``folder`` by the name of its file."""
    return {file.name: _load(folder, file.name) for file in folder.glob("*.schema.json")}


def _files_of_parts(folder: FilePath) -> Mapping[int, str]:
    """The file of each mapping in the schemas, by the mapping's identity: schemas are kept as long as the program
    runs."""
    files: dict[int, str] = {}
    for file, whole in _all(folder).items():
        waiting = [whole]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                files[id(part)] = file
                waiting += part.values()
            elif isinstance(part, list):
                waiting += part
    return files


@cache
def _load(folder: FilePath, file: str) -> Any:
    return json.loads((folder / file).read_text(encoding="utf-8"))
