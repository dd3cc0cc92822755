"""CW4xx: lossless classes, which must agree on every hop. NCCL's own settings are in nccl.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import DSCPS, default_class
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.job import NcclProfile

# RoCE MTU 4096 plus Ethernet, IPv6, UDP, BTH, RETH and ICRC fit an Ethernet MTU of 4,200 bytes with room to spare.
ROCE_MTU = 4200


@rule("CW401", Severity.ERROR)
def dscp_twice(subject: Subject) -> Iterator[Problem]:
    """Code points that two classes of a fabric claim."""
    for fabric in subject.spec.fabrics:
        owner: dict[int, str] = {}
        for item in fabric.classes:
            shared = [code for code in item.dscp if code in owner]
            if shared:
                yield Problem(
                    (*item.path, "dscp"),
                    f"DSCP {', '.join(map(str, shared))} belongs to {owner[shared[0]]} already.",
                    "Put each DSCP into one class.",
                )
            owner.update(dict.fromkeys(item.dscp, item.name))


@rule("CW402", Severity.ERROR)
def queue_twice(subject: Subject) -> Iterator[Problem]:
    """Queues and PFC priorities that two classes of a fabric share."""
    for fabric in subject.spec.fabrics:
        queues: dict[int, str] = {}
        priorities: dict[int, str] = {}
        for item in fabric.classes:
            if item.queue in queues:
                message = f"Queue {item.queue} belongs to {queues[item.queue]} already."
                yield Problem((*item.path, "queue"), message, f"Free queues: {_free(c.queue for c in fabric.classes)}.")
            if item.priority is not None and item.priority in priorities:
                message = f"Priority {item.priority} belongs to {priorities[item.priority]} already."
                free = _free(c.priority for c in fabric.classes)
                yield Problem((*item.path, "priority"), message, f"Free priorities: {free}.")
            queues.setdefault(item.queue, item.name)
            if item.priority is not None:
                priorities.setdefault(item.priority, item.name)


def _free(taken: Iterable[int | None]) -> str:
    """Which of the eight queues or priorities are left."""
    return ", ".join(str(number) for number in sorted(set(range(8)) - set(taken))) or "none"


@rule("CW430", Severity.ERROR)
def dscp_in_no_class(subject: Subject) -> Iterator[Problem]:
    """Ethernet fabrics whose classes are all lossless and leave DSCPs out."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "infiniband" or not fabric.classes or default_class(fabric) is not None:
            continue
        named = {code for item in fabric.classes for code in item.dscp}
        left = [code for code in range(DSCPS) if code not in named]
        if left:
            yield Problem(
                (*fabric.path, "classes"),
                f"No class of {fabric.name} takes DSCP {spans(left)}: all its classes are lossless.",
                "Add a class without `priority` and with `dscp: []`.",
            )


def spans(codes: Iterable[int]) -> str:
    """Numbers in order as people write them, runs as 4-7."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][-1] + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@rule("CW403", Severity.ERROR)
def lossless_data(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics without a lossless class, and NCCL data that travels in a lossy or unknown one."""
    spec = subject.spec
    for fabric in spec.fabrics:
        if fabric.technology == "roce" and not any(item.priority is not None for item in fabric.classes):
            yield Problem(
                (*fabric.path, "classes") if fabric.classes else (*fabric.path, "technology"),
                f"{fabric.name} is RoCE and has no class with a PFC priority.",
                "Give the class of its RDMA traffic a `priority`, the same number on switches and NICs.",
            )
    for nccl in spec.nccl_profiles:
        target = spec.fabric(nccl.fabric)
        if target is not None and target.technology == "roce":
            yield from _data_class(nccl, target)


def _data_class(nccl: NcclProfile, target: Fabric) -> Iterator[Problem]:
    chosen = next((item for item in target.classes if item.name == nccl.data_class), None)
    names = ", ".join(item.name for item in target.classes if item.priority is not None) or "none"
    if nccl.data_class is None:
        yield Problem(
            (*nccl.path, "fabric"),
            f"NCCL has no `data_class`, and its data would travel as best effort on {target.name}.",
            f"Name a lossless class of {target.name}: {names}.",
        )
    elif chosen is None or chosen.priority is None or not chosen.dscp:
        what = "does not exist" if chosen is None else "is lossy" if chosen.priority is None else "has no DSCP"
        yield Problem(
            (*nccl.path, "data_class"),
            f"Class {nccl.data_class} of {target.name} {what}.",
            f"Name a lossless class of {target.name}: {names}.",
        )


@rule("CW423", Severity.ERROR)
def second_lossless(subject: Subject) -> Iterator[Problem]:
    """Classes of an Ethernet fabric that pause a second priority; one that shares the first's is CW402's."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "infiniband":
            continue
        lossless = [item for item in fabric.classes if item.priority is not None]
        for item in lossless[1:]:
            if item.priority != lossless[0].priority:
                message = f"{item.name} is lossless on {fabric.name}, as {lossless[0].name} is: one class may be."
                hint = f"Take its `priority` away, or put its DSCPs into {lossless[0].name}."
                yield Problem((*item.path, "priority"), message, hint)


@rule("CW405", Severity.ERROR)
def roce_mtu(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics whose Ethernet MTU does not carry RDMA packets of 4,096 bytes."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "roce" and fabric.mtu < ROCE_MTU:
            yield Problem(
                (*fabric.path, "mtu"),
                f"MTU {fabric.mtu} of {fabric.name} does not carry RDMA packets of 4,096 bytes.",
                f"Use 9000, or at least {ROCE_MTU}.",
            )
