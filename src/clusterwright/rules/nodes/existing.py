"""CW107 to CW109, CW123 and CW124: nodes with another owner's operating system, and settings outside `takes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CLEAR, CLIENT_SIDE
from clusterwright.spec.image import ACCOUNTS, FILTER, HEALTH, LIMITS, MOUNTS, NCCL, NETWORK, SLURM, Image
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.text.document import Path

# The parts of a node required by each promise.
_PARTS_OF_PROMISES: Mapping[str, tuple[str, ...]] = {
    "no-internet": (FILTER, NETWORK),
    "owner-only": (FILTER, NETWORK, ACCOUNTS),
    "verified-always": (FILTER, HEALTH),
}
# Promises about the whole system of a node: its memory, its mounts and its disks.
_OF_THE_SYSTEM = frozenset({"encrypted-path", "memory-only"})
# Keys of an image without effect if another owner manages their part, or the system itself (None).
_PART_OF_KEY: Mapping[str, str | None] = {
    "repositories": None,
    "kernel": None,
    "packages": None,
    "blacklist": None,
    "module_options": None,
    "gpu_metrics": None,
    "units": None,
    "host_keys": None,
    "size_bytes": None,
    "users": ACCOUNTS,
    "limits": LIMITS,
    "sysctl": NETWORK,
    "checks": HEALTH,
    "health": HEALTH,
}


@rule("CW107", Severity.ERROR)
def parts_of_own_image(subject: Subject) -> Iterator[Problem]:
    """Images with `takes` though delivered as a whole."""
    for image in subject.spec.images:
        if image.takes and not image.is_existing:
            message = f"{image.name} is delivered as a whole, and `takes` names parts of another owner's system."
            hint = "Write `delivery: existing`, or remove `takes`."
            yield Problem((*image.path, "takes"), message, hint, key=True)


@rule("CW108", Severity.ERROR)
def promise_beyond_parts(subject: Subject) -> Iterator[Problem]:
    """Promises depending on a part of a node managed by another owner."""
    spec = subject.spec
    for promise in spec.promises:
        for image in _existing_in_use(spec):
            if promise.promise in _OF_THE_SYSTEM:
                lacking = ["the system itself"]
            else:
                lacking = [part for part in _PARTS_OF_PROMISES.get(promise.promise, ()) if not image.owns(part)]
            if lacking:
                message = (
                    f"Promise {promise.name} ({promise.promise}) depends on {' and '.join(lacking)} of nodes of"
                    f" {image.name}, which another owner manages."
                )
                hint = f"Take these parts (`takes` of {image.name}), or remove the promise."
                if promise.promise in _OF_THE_SYSTEM:
                    hint = "Deliver the nodes' image (`delivery: memory` or `disk`), or remove the promise."
                yield Problem((*promise.path, "promise"), message, hint)


@rule("CW109", Severity.ERROR)
def key_of_somebody_elses(subject: Subject) -> Iterator[Problem]:
    """Image keys without effect on nodes installed by another owner."""
    for image in (image for image in subject.spec.images if image.is_existing):
        written = subject.spec.document.at(image.path)
        for key, part in _PART_OF_KEY.items():
            if key not in written or (part is not None and image.owns(part)):
                continue
            owner = "the system has another owner" if part is None else f"{part} is not listed in its `takes`"
            message = f"`{key}` of {image.name} changes nothing on its nodes: {owner}."
            hint = f"Remove `{key}`" + ("." if part is None else f", or add `{part}` to `takes`.")
            yield Problem((*image.path, key), message, hint, key=True)


@rule("CW123", Severity.ERROR)
def mount_on_somebody_elses(subject: Subject) -> Iterator[Problem]:
    """Mounts and scratch disks not set up on nodes with another owner's system."""
    spec = subject.spec
    for mount in spec.mounts:
        for place, name, image in _on_existing(spec, mount.nodes, mount.path):
            if not image.owns(MOUNTS):
                message = f"{mount.mountpoint}: nothing mounts it on {name}, whose system another owner installed."
                yield Problem(place, message, f"Add `mounts` to `takes` of {image.name}, or leave {name} out.")
            elif not _is_mounted_without_programs(spec, mount):
                message = (
                    f"{mount.mountpoint} needs programs of its protection or its datasets on {name}, whose system"
                    " another owner installed."
                )
                yield Problem(place, message, f"Leave {name} out, and mount it there by hand.")
    for scratch in spec.encryption.scratch:
        for place, name, _ in _on_existing(spec, scratch.nodes, scratch.path):
            message = f"{scratch.mountpoint}: nothing makes it on {name}, whose system another owner installed."
            yield Problem(place, message, f"Leave {name} out: make it there by hand.")


def _on_existing(spec: ClusterSpec, nodes: Iterable[str], path: Path) -> Iterator[tuple[Path, str, Image]]:
    """The node groups with another owner's system, each with its place under ``path`` and its image."""
    for index, name in enumerate(nodes):
        group = spec.node_group(name)
        image = spec.image((group.image if group is not None else None) or "")
        if image is not None and image.is_existing:
            yield (*path, "nodes", index), name, image


def _is_mounted_without_programs(spec: ClusterSpec, mount: Mount) -> bool:
    """True if a mount needs nothing beside its unit and its client."""
    is_gated = any(dataset.mount == mount.name for dataset in spec.datasets)
    return not is_gated and (mount.protection is None or mount.protection.kind in {CLEAR, CLIENT_SIDE})


@rule("CW124", Severity.ERROR)
def parts_that_start_others(subject: Subject) -> Iterator[Problem]:
    """Slurm's settings on nodes without the programs they start: every job would end in its prolog."""
    spec = subject.spec
    slurms = (scheduler for scheduler in spec.schedulers if scheduler.slurm is not None)
    placed = set(chain.from_iterable(scheduler.nodes for scheduler in slurms))
    for image in _existing_in_use(spec):
        if not image.owns(SLURM) or not _groups_of(spec, image) & placed:
            continue
        lacking = [part for part in (HEALTH, NCCL) if not image.owns(part)]
        if lacking:
            message = f"Slurm on nodes of {image.name} starts programs of {' and '.join(lacking)}, which it leaves out."
            yield Problem((*image.path, "takes"), message, f"Add `{'` and `'.join(lacking)}` to `takes`.", key=True)


def _existing_in_use(spec: ClusterSpec) -> Iterator[Image]:
    names = {group.image for group in spec.node_groups} | {item.image for item in spec.exceptions}
    for image in spec.images:
        if image.is_existing and image.name in names:
            yield image


def _groups_of(spec: ClusterSpec, image: Image) -> set[str]:
    return {group.name for group in spec.node_groups if group.image == image.name}
