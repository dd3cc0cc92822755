"""From a checked document to the typed spec.

Expects a document valid by its JSON Schema; checks beyond a schema (does this model exist, is this prefix a network)
are collected here and raised together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec.allocated.facts import NOTHING_STANDS, Allocated
from clusterwright.spec.allocated.reading import read_allocated
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.infiniband import GuidFile
from clusterwright.spec.labels.macs import MacFile, NotedMac
from clusterwright.spec.labels.overlay import NO_OVERLAY, read_overlay
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.reading import Reading
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.document import Document, Path
from clusterwright.spec.text.extends import read_spec_document
from clusterwright.spec.text.source import is_there, note_absence

ALLOCATED = ".allocated.yaml"  # suffix of allocation files
OVERLAY = ".overlay.csv"
BEFORE: Path = ("allocation", "from")
PLACE: Path = ("allocated",)  # stands for the file's content: rules that use it are not checked while it has errors


def load_spec(path: str | FilePath) -> ClusterSpec:
    """Read, check and type the spec at ``path``.

    Raises SpecError with every finding of the failed stage: reading, schema, or references to the catalogue.
    """
    document = read_spec_document(path)
    findings = check(document, "cluster")
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise SpecError(findings)
    return load_spec_document(document)


def load_spec_document(document: Document) -> ClusterSpec:
    """Type a document valid by the cluster schema.

    Raises SpecError for unknown hardware models, prefixes that are no networks and ranges that run backwards.
    """
    typed = type_document(document)
    if typed.findings:
        raise SpecError(typed.findings)
    return typed.spec


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed spec, the errors of its values, and the places of stand-ins for doubtful values."""

    spec: ClusterSpec
    findings: tuple[Finding, ...]
    doubts: Mapping[Path, Finding]


def type_document(document: Document) -> Typed:
    """Type a document valid by the cluster schema, with findings about its values."""
    findings: list[Finding] = []
    try:
        count = len(document.data.get("hardware", ()))
        catalogue = load_catalogue(extra=[document.named_file(("hardware", index)) for index in range(count)])
    except SpecError as error:
        findings += error.findings
        catalogue = load_catalogue()
    reading = Reading(document, catalogue, lacking=findings[0] if findings else None)
    spec = replace(reading.typed(ClusterSpec, document.data, ()), allocated=_what_stands(reading))
    spec = _with_overlay(reading, spec)
    return Typed(spec, (*findings, *reading.findings), reading.doubts)


def allocation_file(spec: str | FilePath) -> FilePath:
    """Path of the allocation file of the spec at ``spec``: cluster.yaml has cluster.allocated.yaml."""
    return FilePath(spec).with_suffix(ALLOCATED)


def overlay_file(spec: str | FilePath) -> FilePath:
    """Path of the overlay file of the spec at ``spec``: cluster.yaml has cluster.overlay.csv."""
    return FilePath(spec).with_suffix(OVERLAY)


def _with_overlay(reading: Reading, spec: ClusterSpec) -> ClusterSpec:
    """The spec with the rows of its overlay file, MAC addresses and GUIDs included."""
    file = overlay_file(reading.document.file)
    if not is_there(file):
        note_absence(file)
        return spec
    try:
        overlay, findings = read_overlay(file, str(file))
    except SpecError as error:
        overlay, findings = NO_OVERLAY, list(error.findings)
    for finding in findings:
        reading.findings.append(finding)
        reading.doubts["overlay",] = finding
    macs: list[NotedMac] = []
    for row in overlay.rows:
        if row.mac is None:
            continue
        macs.append(NotedMac(device=row.device, port=row.port, mac=row.mac, line=row.line))
    boot = spec.boot
    if boot is not None and macs:
        mac_file = boot.macs or MacFile(overlay.file, ())
        boot = replace(boot, macs=replace(mac_file, overlay=tuple(macs)))
    guids = {(row.device, row.port): row.guid for row in overlay.rows if row.guid is not None}
    fabrics = []
    for fabric in spec.fabrics:
        if guids and fabric.technology == "infiniband":
            guid_file = fabric.guids or GuidFile(overlay.file, (), fabric.path)
            fabrics.append(replace(fabric, guids=replace(guid_file, overlay=guids)))
        else:
            fabrics.append(fabric)
    return replace(spec, overlay=overlay, boot=boot, fabrics=tuple(fabrics))


def _what_stands(reading: Reading) -> Allocated:
    """The spec's allocation file, or, until it has one, that of the previous phase; findings are recorded."""
    document = reading.document
    allocated_path = allocation_file(document.file)
    if allocated_path.is_file():
        file: FilePath | None = allocated_path
    else:
        note_absence(allocated_path)
        if document.at(BEFORE) is None:
            return NOTHING_STANDS
        file = None
    try:
        file = file or document.named_file(BEFORE)
        allocated, findings = read_allocated(file, str(file), is_own=file == allocated_path)
    except SpecError as error:
        allocated, findings = NOTHING_STANDS, list(error.findings)
    for finding in findings:
        reading.findings.append(finding)
        reading.doubts[PLACE] = finding
    return allocated
