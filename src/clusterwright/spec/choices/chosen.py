"""Choices of a spec, with their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.spec.choices.table import (
    DELIVERY,
    FILE_SYSTEM,
    FIRST_CONTACT,
    RUNTIME,
    SCHEDULER,
    SUBNET_MANAGER,
    choice_keys,
)
from clusterwright.spec.choices.walk import Walk
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.image import Image
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class ChosenProgram:
    """A choice of a spec, by its usual name."""

    title: str
    walk: Walk
    path: Path


def choices_of(spec: ClusterSpec) -> tuple[ChosenProgram, ...]:
    """Every choice of a spec, each once, at its first place."""
    by_title: dict[str, ChosenProgram] = {}
    for chosen in _choices(spec):
        by_title.setdefault(chosen.title, chosen)
    return tuple(by_title.values())


def _choices(spec: ClusterSpec) -> Iterator[ChosenProgram]:
    for fabric in spec.fabrics:
        yield from _choices_of_fabric(fabric)
    yield from _first_contacts(spec)
    images_in_use = {group.image for group in spec.node_groups} | {exception.image for exception in spec.exceptions}
    for image in spec.images:
        if image.name in images_in_use:
            yield from _choices_of_image(image)
    for mount in spec.mounts:
        yield _chosen(FILE_SYSTEM, mount.type, (*mount.path, "type"))
    for scheduler in spec.schedulers:
        if scheduler.slurm is not None:
            yield _chosen(SCHEDULER, "slurm", (*scheduler.path, "kind"))
        if scheduler.kueue is not None:
            yield _chosen(SCHEDULER, "kueue", (*scheduler.path, "kueue"))


def _first_contacts(spec: ClusterSpec) -> Iterator[ChosenProgram]:
    """The systems with a first file from the server; management switches have no port to ask over."""
    if spec.first_contact is None:
        return
    systems_with_file = {value.name for value in choice_keys()[FIRST_CONTACT].values}
    for fabric in spec.fabrics:
        if fabric.is_management:
            continue
        for tier in fabric.tiers:
            system = system_of(tier.model)
            if system is not None and system.name in systems_with_file:
                yield _chosen(FIRST_CONTACT, system.name, (*spec.first_contact.path, "server"))


def _choices_of_fabric(fabric: Fabric) -> Iterator[ChosenProgram]:
    for tier in fabric.tiers:
        system = system_of(tier.model)
        if system is not None:
            yield ChosenProgram(title=system.title, walk=system.walk, path=(*tier.path, "model"))
    manager = fabric.subnet_manager
    if manager is not None:
        yield _chosen(SUBNET_MANAGER, manager.kind, (*manager.path, "kind"))


def _choices_of_image(image: Image) -> Iterator[ChosenProgram]:
    distribution = distribution_of(image.distribution)
    if distribution is not None:
        yield ChosenProgram(title=distribution.name, walk=distribution.walk, path=(*image.path, "distribution"))
    yield _chosen(DELIVERY, image.delivery, (*image.path, "delivery"))
    if image.containers is not None:
        yield _chosen(RUNTIME, image.containers.runtime, (*image.path, "containers"))


def _chosen(key: str, value: str, path: Path) -> ChosenProgram:
    program = choice_keys()[key].value(value)
    return ChosenProgram(title=program.title, walk=program.walk, path=path)
