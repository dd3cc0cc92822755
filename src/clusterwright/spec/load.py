"""From a checked document to the typed spec.

Expects a document that its JSON Schema accepts; what a schema cannot say (does this model exist, is this prefix a
network) is collected here, all of it, and raised together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Any

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec import (
    encryption_load,
    ethernet_load,
    execution_load,
    fabric_load,
    image_load,
    isolation_load,
    job_load,
    rollout_load,
    site_load,
    workload_load,
)
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.hardware.chip_settings import chip_settings
from clusterwright.spec.model import CLUSTER, ClusterSpec, Expectation, Level, Mount, NodeGroup, SpecException
from clusterwright.spec.reading import Reading
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.document import Document, Path
from clusterwright.spec.text.extends import read_spec_document


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
    spec = _cluster(reading)
    return Typed(spec, (*findings, *reading.findings), reading.doubts)


def _cluster(reading: Reading) -> ClusterSpec:
    data = reading.document.data
    return ClusterSpec(
        name=data["name"],
        title=data.get("title", data["name"]),
        site=site_load.site(reading, data["site"], ("site",)),
        node_groups=reading.each(data, "nodes", partial(_node_group, reading)),
        fabrics=reading.each(data, "fabrics", partial(fabric_load.fabric, reading)),
        mounts=reading.each(data, "mounts", partial(_mount, reading)),
        encryption=encryption_load.encryption(reading, data.get("encryption", {}), ("encryption",)),
        datasets=reading.each(data, "datasets", partial(encryption_load.dataset, reading)),
        keys=reading.each(data, "keys", encryption_load.key_schedule),
        secrets=reading.each(data, "secrets", encryption_load.secret_source),
        execution=execution_load.execution(reading, data["execution"], ("execution",)) if "execution" in data else None,
        rollout=rollout_load.rollout(data.get("rollout"), ("rollout",)),
        zones=reading.each(data, "zones", partial(isolation_load.zone, reading)),
        flows=reading.each(data, "flows", partial(isolation_load.flow, reading)),
        borders=reading.each(data, "borders", partial(isolation_load.border, reading)),
        promises=reading.each(data, "promises", isolation_load.promise),
        images=reading.each(data, "images", partial(image_load.image, reading)),
        boot=image_load.boot(reading, data["boot"], ("boot",)) if "boot" in data else None,
        nccl=job_load.nccl(reading, data["nccl"], ("nccl",)) if "nccl" in data else None,
        scheduler=job_load.scheduler(reading, data["scheduler"], ("scheduler",)) if "scheduler" in data else None,
        jobs=reading.each(data, "jobs", workload_load.job),
        exceptions=reading.each(data, "exceptions", partial(_exception, reading)),
        extra_config=reading.each(data, "extra_config", ethernet_load.extra_config),
        expectations=reading.each(data, "expect", partial(_expectation, reading)),
        chip_settings=reading.each(data, "chip_settings", partial(chip_settings, reading)),
        catalogue=reading.catalogue,
        document=reading.document,
    )


def _node_group(reading: Reading, data: Mapping[str, Any], path: Path) -> NodeGroup:
    steps = data["levels"]
    larger = [step["name"] for step in steps[1:]] + [CLUSTER]
    levels = tuple(
        Level(
            name=step["name"],
            of=step["of"],
            code=step.get("code", step["name"][0]),
            within=step.get("within", above),
            path=(*path, "levels", index),
        )
        for index, (step, above) in enumerate(zip(steps, larger, strict=True))
    )
    return NodeGroup(
        name=data["name"],
        role=data["role"],
        model=reading.model(data["model"], (*path, "model")),
        count=data["count"],
        levels=levels,
        prefix=data.get("prefix", data["name"].replace("-", "")),
        zone=data.get("zone"),
        image=data.get("image"),
        path=path,
    )


def _mount(reading: Reading, data: Mapping[str, Any], path: Path) -> Mount:
    return Mount(
        name=data["name"],
        mountpoint=data["mountpoint"],
        nodes=tuple(data["nodes"]),
        system=data["system"],
        export=data["export"],
        type=data["type"],
        options=tuple(data["options"]),
        protection=encryption_load.protection(data["protection"], (*path, "protection"))
        if "protection" in data
        else None,
        path=path,
    )


def _exception(reading: Reading, data: Mapping[str, Any], path: Path) -> SpecException:
    return SpecException(
        device=data.get("device"),
        group=data.get("group"),
        port=data.get("port"),
        state=data.get("state"),
        image=data.get("image"),
        reason=data["reason"],
        path=path,
    )


def _expectation(reading: Reading, data: Mapping[str, Any], path: Path) -> Expectation:
    return Expectation(
        figure=data["figure"],
        value=data["value"],
        tolerance=data.get("tolerance", 0.0),
        source=data.get("source"),
        assumed=data.get("assumed"),
        path=path,
    )
