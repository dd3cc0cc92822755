"""CW6xx: images, nodes and their scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import login_places, named_groups
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.driver_releases import driver_kind, is_missing
from clusterwright.spec.image import Driver, Image
from clusterwright.spec.job import SlurmTopology
from clusterwright.spec.kernel_settings import dotted
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path

# Settings ignored by modern kernels, or removed from them.
DEAD_SYSCTLS = {
    "net.ipv4.tcp_low_latency": "does nothing since Linux 4.14",
    "net.ipv4.tcp_tw_recycle": "was removed in Linux 4.12",
}


@rule("CW601", Severity.WARNING)
def dead_sysctl(subject: Subject) -> Iterator[Problem]:
    """Kernel settings without effect on the kernels of GPU nodes."""
    for image in subject.spec.images:
        for name in image.sysctl:
            dead = DEAD_SYSCTLS.get(dotted(name))
            if dead is not None:
                yield Problem((*image.path, "sysctl", name), f"{name} {dead}.", "Remove it.", key=True)


@rule("CW602", Severity.ERROR)
def block_sizes(subject: Subject) -> Iterator[Problem]:
    """Block sizes of the scheduler, compared with Slurm's rule and with the base block."""
    for slurm, nodes in ((scheduler.slurm, scheduler.nodes) for scheduler in subject.spec.schedulers):
        if slurm is not None:
            yield from _sizes(subject.spec, slurm, nodes)


def _sizes(spec: ClusterSpec, slurm: SlurmTopology, nodes: Iterable[str]) -> Iterator[Problem]:
    groups = [group for group in spec.node_groups if group.name in nodes]
    if slurm.plugin == "block" and not slurm.block_sizes:
        sizes = [group.nodes_of_smallest(slurm.leaf) for group in groups if _has_level(group, slurm.leaf)]
        hint = "List them, smallest first."
        if sizes:
            hint = f"Write `block_sizes: [{min(sizes)}]`, the nodes of one {slurm.leaf}; larger sizes may follow."
        yield Problem((*slurm.path, "plugin"), "The block plugin needs `block_sizes`.", hint)
        return
    if slurm.plugin == "tree" and slurm.block_sizes:
        yield Problem((*slurm.path, "block_sizes"), "The tree plugin has no block sizes.", "Remove them.", key=True)
        return
    for index, size in enumerate(slurm.block_sizes):
        base = slurm.block_sizes[0]
        factor = size // base
        if size % base or factor & (factor - 1) or (index and size <= slurm.block_sizes[index - 1]):
            yield Problem(
                (*slurm.path, "block_sizes", index),
                f"{size} is not {base} times a power of two, larger than the one before.",
                f"Use sizes out of {base}, {2 * base}, {4 * base}, {8 * base}, ...",
            )
    if slurm.block_sizes:
        for group in groups:
            yield from _blocks_that_fill(slurm, group)


def _has_level(group: NodeGroup, level: str) -> bool:
    return level == CLUSTER or level in [step.name for step in group.levels]


def _blocks_that_fill(slurm: SlurmTopology, group: NodeGroup) -> Iterator[Problem]:
    """The base block, compared with the leaves, including a partly filled last one."""
    if not _has_level(group, slurm.leaf):
        return
    base = slurm.block_sizes[0]
    leaf = min(group.nodes_per(slurm.leaf), group.count)
    last = group.nodes_of_smallest(slurm.leaf)
    path = (*slurm.path, "block_sizes", 0)
    if leaf < base:
        message = f"A {slurm.leaf} has {leaf} nodes, fewer than the base block of {base}."
        yield Problem(path, message, f"Begin with {leaf}, or with a larger level as `leaf`.")
    elif last < base:
        message = f"The last {slurm.leaf} has {last} nodes ({group.count} in all), fewer than the base block of {base}."
        yield Problem(path, message, f"Begin with {last}, or fill the last {slurm.leaf}.")


@rule("CW603", Severity.ERROR)
def jobs_without_image(subject: Subject) -> Iterator[Problem]:
    """Node groups of NCCL or a scheduler without an image."""
    spec = subject.spec
    groups: list[tuple[str, Path]] = []
    for profile in spec.nccl_profiles:
        groups += named_groups(spec, profile.nodes, (*profile.path, "nodes"))
    for scheduler in spec.schedulers:
        groups += named_groups(spec, scheduler.nodes, (*scheduler.path, "nodes"))
        groups += login_places(scheduler)
    for name, path in groups:
        group = spec.node_group(name)
        if group and group.image is None:
            yield Problem(
                path,
                f"Nodes of {name} have no image, which NCCL's and Slurm's files are part of.",
                f"Give {name} an `image`.",
            )


@rule("CW604", Severity.ERROR)
def mount_without_image(subject: Subject) -> Iterator[Problem]:
    """Node groups of a mount without an image."""
    bare = {group.name for group in subject.spec.node_groups if group.image is None}
    for mount in subject.spec.mounts:
        for index, name in enumerate(mount.nodes):
            if name in bare:
                message = f"Nodes of {name} have no image, so {mount.mountpoint} would never be mounted there."
                yield Problem((*mount.path, "nodes", index), message, f"Give {name} an `image`, or remove it here.")


@rule("CW339", Severity.ERROR)
def driver_without_packages(subject: Subject) -> Iterator[Problem]:
    """Image drivers older than their distribution."""
    for image, driver, missing in _drivers(subject):
        if missing:
            message = f"{driver.name} {driver.version} is older than {image.distribution}, and is not published for it."
            yield Problem((*driver.path, "version"), message, "Use a release that is published for it.")


@rule("CW348", Severity.NOTE)
def driver_not_looked_up(subject: Subject) -> Iterator[Problem]:
    """Drivers without a citation and of unknown availability for their distribution."""
    for image, driver, missing in _drivers(subject):
        if missing is None and "source" not in (subject.spec.document.at(driver.path) or {}):
            message = f"Whether {driver.name} {driver.version} is published for {image.distribution} is not known."
            yield Problem((*driver.path, "version"), message, "Write under `source` where its packages are.")


def _drivers(subject: Subject) -> Iterator[tuple[Image, Driver, bool | None]]:
    for image in subject.spec.images:
        distribution = distribution_of(image.distribution)
        if distribution is None:
            continue
        for driver in image.drivers:
            if driver_kind(driver) is not None:
                yield image, driver, is_missing(driver, distribution)
