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


@rule(
    code="CW401",
    severity=Severity.ERROR,
    title="DSCP in two classes",
    why="Two hops that read one code point differently drop RDMA packets that one of them meant to keep.",
    mend="Put each DSCP into one class.",
    docs="Switches and NICs map a packet to a queue and a PFC priority by its DSCP alone. The class without code"
    " points takes all that no other class names (CW430).",
)
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


@rule(
    code="CW402",
    severity=Severity.ERROR,
    title="queue or priority used twice",
    why="Lossless and lossy traffic in one queue pause each other.",
    mend="Give each class its own queue, and each lossless class its own priority.",
)
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


@rule(
    code="CW430",
    severity=Severity.ERROR,
    title="DSCPs that no class takes",
    why="What no class takes is treated by each system in its own way, and by some as lossless.",
    mend="Add a lossy class without code points, or name every DSCP.",
    docs="The lossy class without code points takes all DSCPs that no class names; without one it is the lossy class in"
    " the lowest queue. Where every class is lossless nothing takes them: EOS and NICs then go by the upper three bits"
    " of the DSCP, which may be the number of a lossless class, while FBOSS and SONiC take class 0.",
)
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


@rule(
    code="CW403",
    severity=Severity.ERROR,
    title="RoCE without a lossless class for its data",
    why="RDMA over a lossy class falls to go-back-N retransmission and stalls whole jobs.",
    mend="Give the fabric a class with a `priority`, and name it as `nccl.data_class`.",
    docs="RoCE has no retransmission worth the name: a NIC that misses one packet sends all since then again (go-"
    " back-N), so the fabric must not drop. PFC pauses the sender of one priority instead; NICs and every"
    " switch on the way need the same priority for the same DSCPs. Meta runs one lossless queue from end to"
    ' end (Gangidi et al., "RDMA over Ethernet for Distributed AI Training at Meta Scale", SIGCOMM 2024, 6.2).',
)
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


@rule(
    code="CW423",
    severity=Severity.ERROR,
    title="second lossless class",
    why="Every lossless class takes headroom on every port, and neither chips nor proofs here set any aside for two.",
    mend="Keep `priority` on one class, put the other's DSCPs into it, or leave the other lossy.",
    docs="A port keeps headroom for each priority that it pauses: at 400 Gb/s some 180 kB that arrive after a pause."
    " Chips share one pool of it among all ports, so a second class halves what the first can count on, and two classes"
    " that wait for each other's buffers are harder to prove free of deadlock. Meta runs one lossless queue from end to"
    " end (SIGCOMM 2024, 6.2). Whoever has proven on the hardware that its headroom holds two"
    " writes `# clusterwright: ignore[CW423]` and that proof as the reason on the class's `priority`.",
)
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


@rule(
    code="CW405",
    severity=Severity.ERROR,
    title="MTU too small for RoCE",
    why="Below 4,200 bytes the NIC falls back to RDMA packets of 2,048 bytes or fewer, and loses bandwidth.",
    mend="Use 9000.",
    docs="RDMA packets carry 256, 512, 1024, 2048 or 4096 bytes; the NIC takes the largest that its Ethernet MTU"
    " holds with the headers of IPv6, UDP and RoCE. 1500 leaves 1024.",
)
def roce_mtu(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics whose Ethernet MTU does not carry RDMA packets of 4,096 bytes."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "roce" and fabric.mtu < ROCE_MTU:
            yield Problem(
                (*fabric.path, "mtu"),
                f"MTU {fabric.mtu} of {fabric.name} does not carry RDMA packets of 4,096 bytes.",
                f"Use 9000, or at least {ROCE_MTU}.",
            )
