"""From a checked document to the typed spec.

Expects a document that its JSON Schema accepts; what a schema cannot say (does this model exist, is this prefix a
network) is collected here, all of it, and raised together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec.allocated.facts import NOTHING_STANDS, Allocated
from clusterwright.spec.allocated.reading import read_allocated
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.reading import Reading
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.document import Document, Path
from clusterwright.spec.text.extends import read_spec_document
from clusterwright.spec.text.source import note_absence

ALLOCATED = ".allocated.yaml"  # how the names of allocation files end
BEFORE: Path = ("allocation", "from")
PLACE: Path = ("allocated",)  # of what the file says: whoever reads it cannot be judged while that is in doubt


def load_spec(path: str | FilePath) -> ClusterSpec:
    """Read, check and type the spec at ``path``.

    Raises SpecError with every finding of the stage that failed: reading, schema, or references to the catalogue.
    """
    document = read_spec_document(path)
    findings = check(document, "cluster")
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise SpecError(findings)
    return load_spec_document(document)


def load_spec_document(document: Document) -> ClusterSpec:
    """Type a document that the cluster schema accepts.

    Raises SpecError for unknown hardware models, prefixes that are no networks and ranges that run backwards.
    """
    typed = type_document(document)
    if typed.findings:
        raise SpecError(typed.findings)
    return typed.spec


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed spec, what is wrong with its values, and where something only stands in for a value that is in doubt."""

    spec: ClusterSpec
    findings: tuple[Finding, ...]
    doubts: Mapping[Path, Finding]


def type_document(document: Document) -> Typed:
    """Type a document that the cluster schema accepts, whatever is wrong with its values."""
    findings: list[Finding] = []
    try:
        named = (document.named_file(("hardware", at)) for at in range(len(document.data.get("hardware", ()))))
        catalogue = load_catalogue(extra=list(named))
    except SpecError as error:
        findings += error.findings
        catalogue = load_catalogue()
    reading = Reading(document, catalogue, lacking=findings[0] if findings else None)
    spec = replace(reading.typed(ClusterSpec, document.data, ()), allocated=_what_stands(reading))
    return Typed(spec, (*findings, *reading.findings), reading.doubts)


def allocation_file(spec: str | FilePath) -> FilePath:
    """Where the allocation file of the spec at ``spec`` lies: cluster.yaml has cluster.allocated.yaml."""
    return FilePath(spec).with_suffix(ALLOCATED)


def _what_stands(reading: Reading) -> Allocated:
    """What the spec's own allocation file says, or, until it has one, that of the phase before; findings recorded."""
    document = reading.document
    own = allocation_file(document.file)
    if own.is_file():
        file: FilePath | None = own
    else:
        note_absence(own)
        if document.at(BEFORE) is None:
            return NOTHING_STANDS
        file = None
    try:
        file = file or document.named_file(BEFORE)
        found, findings = read_allocated(file, str(file), is_own=file == own)
    except SpecError as error:
        found, findings = NOTHING_STANDS, list(error.findings)
    for finding in findings:
        reading.findings.append(finding)
        reading.doubts[PLACE] = finding
    return found
