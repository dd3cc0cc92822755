"""CW6xx: images, nodes and their scheduler."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

# Settings that modern kernels accept and ignore, or do not have.
DEAD_SYSCTLS = {
    "net.ipv4.tcp_low_latency": "does nothing since Linux 4.14",
    "net.ipv4.tcp_tw_recycle": "was removed in Linux 4.12",
}


@rule(
    code="CW601",
    severity=Severity.WARNING,
    title="sysctl without effect",
    why="A setting that the kernel ignores gives a false sense of tuning.",
    mend="Take it away.",
)
def dead_sysctl(subject: Subject) -> Iterator[Problem]:
    """Settings that do nothing on the kernels that GPU nodes run."""
    for image in subject.spec.images:
        for name in image.sysctl:
            if name in DEAD_SYSCTLS:
                yield Problem((*image.path, "sysctl", name), f"{name} {DEAD_SYSCTLS[name]}.", "Take it away.", key=True)


@rule(
    code="CW602",
    severity=Severity.ERROR,
    title="block sizes that Slurm refuses",
    why="Slurm's block plugin wants every size to be the first one times a power of two; slurmctld stops otherwise.",
    mend="Use sizes such as [32, 64, 128].",
)
def block_sizes(subject: Subject) -> Iterator[Problem]:
    """Block sizes of the scheduler against Slurm's rule, and against the base block."""
    scheduler = subject.spec.scheduler
    if scheduler is None:
        return
    if scheduler.plugin == "block" and not scheduler.block_sizes:
        yield Problem(scheduler.path, "The block plugin needs `block_sizes`.", "List them, smallest first.")
        return
    if scheduler.plugin == "tree" and scheduler.block_sizes:
        yield Problem((*scheduler.path, "block_sizes"), "The tree plugin has no block sizes.", "Take them away.")
        return
    for at, size in enumerate(scheduler.block_sizes):
        base = scheduler.block_sizes[0]
        factor = size // base
        if size % base or factor & (factor - 1) or (at and size <= scheduler.block_sizes[at - 1]):
            yield Problem(
                (*scheduler.path, "block_sizes", at),
                f"{size} is not {base} times a larger power of two.",
                f"Use {base}, {2 * base}, {4 * base}, ...",
            )
    group = subject.spec.node_group(scheduler.nodes)
    if group and scheduler.block_sizes and scheduler.leaf in [level.name for level in group.levels]:
        base = group.nodes_per(scheduler.leaf)
        if base < scheduler.block_sizes[0]:
            yield Problem(
                (*scheduler.path, "block_sizes", 0),
                f"A {scheduler.leaf} has {base} nodes, fewer than the base block of {scheduler.block_sizes[0]}.",
                f"Begin with {base}.",
            )


@rule(
    code="CW603",
    severity=Severity.ERROR,
    title="nodes that run jobs without an image",
    why="NCCL and Slurm files are part of an image; nodes without one would get neither.",
    mend="Give the node group an `image`.",
)
def jobs_without_image(subject: Subject) -> Iterator[Problem]:
    """Node groups that NCCL or the scheduler name, without an image."""
    spec = subject.spec
    named = []
    if spec.nccl:
        named.append((spec.nccl.nodes, (*spec.nccl.path, "nodes")))
    if spec.scheduler:
        named.append((spec.scheduler.nodes, (*spec.scheduler.path, "nodes")))
    for name, path in named:
        group = spec.node_group(name)
        if group and group.image is None:
            yield Problem(path, f"Nodes of {name} have no image.", "Give the node group an `image`.")
