"""CW4xx: lossless classes and NCCL, which must agree on every hop."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

# RoCE MTU 4096 plus Ethernet, IPv6, UDP, BTH, RETH and ICRC fit an Ethernet MTU of 4,200 bytes with room to spare.
ROCE_MTU = 4200


@rule(
    code="CW401",
    severity=Severity.ERROR,
    title="DSCP in two classes",
    why="Two hops that read one code point differently drop RDMA packets that one of them meant to keep.",
    mend="Put each DSCP into one class.",
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
                yield Problem((*item.path, "queue"), message, "Choose another queue.")
            if item.priority is not None and item.priority in priorities:
                message = f"Priority {item.priority} belongs to {priorities[item.priority]} already."
                yield Problem((*item.path, "priority"), message, "Choose another priority.")
            queues.setdefault(item.queue, item.name)
            if item.priority is not None:
                priorities.setdefault(item.priority, item.name)


@rule(
    code="CW403",
    severity=Severity.ERROR,
    title="RoCE without a lossless class for its data",
    why="RDMA over a lossy class falls to go-back-N retransmission and stalls whole jobs.",
    mend="Give the fabric a class with a `priority`, and name it as `nccl.data_class`.",
)
def lossless_data(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics without a lossless class, and NCCL data that travels in a lossy or unknown one."""
    spec = subject.spec
    for fabric in spec.fabrics:
        if fabric.technology == "roce" and not any(item.priority is not None for item in fabric.classes):
            yield Problem(
                fabric.path, f"{fabric.name} is RoCE and has no class with a PFC priority.", "Add one under `classes`."
            )
    nccl = spec.nccl
    target = spec.fabric(nccl.fabric) if nccl else None
    if nccl is None or target is None or target.technology != "roce":
        return
    chosen = next((item for item in target.classes if item.name == nccl.data_class), None)
    names = ", ".join(item.name for item in target.classes if item.priority is not None) or "none"
    if nccl.data_class is None:
        yield Problem(nccl.path, "NCCL has no `data_class`.", f"Name a lossless class of {target.name}: {names}.")
    elif chosen is None or chosen.priority is None or not chosen.dscp:
        what = "does not exist" if chosen is None else "is lossy" if chosen.priority is None else "has no DSCP"
        yield Problem(
            (*nccl.path, "data_class"),
            f"Class {nccl.data_class} of {target.name} {what}.",
            f"Name a lossless class of {target.name}: {names}.",
        )


@rule(
    code="CW404",
    severity=Severity.ERROR,
    title="control messages outside the lossless class",
    why="A lost clear-to-send stops its receiver until a timeout of seconds.",
    mend="Choose a DSCP of a lossless class.",
)
def control_dscp(subject: Subject) -> Iterator[Problem]:
    """NCCL's control DSCP against the classes of its fabric."""
    nccl = subject.spec.nccl
    fabric = subject.spec.fabric(nccl.fabric) if nccl else None
    if nccl is None or fabric is None or nccl.control_dscp is None:
        return
    lossless = {code for item in fabric.classes if item.priority is not None for code in item.dscp}
    if nccl.control_dscp not in lossless:
        yield Problem(
            (*nccl.path, "control_dscp"),
            f"DSCP {nccl.control_dscp} is in no lossless class of {fabric.name}.",
            f"Choose one of {_spans(lossless)}.",
        )


def _spans(codes: set[int]) -> str:
    spans: list[list[int]] = []
    for code in sorted(codes):
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return ", ".join(f"{low}-{high}" if low < high else str(low) for low, high in spans) or "none"


@rule(
    code="CW405",
    severity=Severity.ERROR,
    title="MTU too small for RoCE",
    why="Below 4,200 bytes the NIC falls back to RDMA packets of 2,048 bytes or fewer, and loses bandwidth.",
    mend="Use 9000.",
)
def roce_mtu(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics whose Ethernet MTU does not carry RDMA packets of 4,096 bytes."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "roce" and fabric.mtu < ROCE_MTU:
            yield Problem(
                (*fabric.path, "mtu"), f"MTU {fabric.mtu} does not carry RDMA packets of 4,096 bytes.", "Use 9000."
            )


@rule(
    code="CW406",
    severity=Severity.ERROR,
    title="NCCL on nodes or NICs that the fabric does not serve",
    why="NCCL would find no RDMA device, or bootstrap over a network that its nodes are not on.",
    mend="Attach the nodes to both fabrics, or name others.",
)
def nccl_fabric(subject: Subject) -> Iterator[Problem]:
    """NCCL's nodes against what its two fabrics attach."""
    nccl = subject.spec.nccl
    if nccl is None:
        return
    for key, name in (("fabric", nccl.fabric), ("sockets", nccl.sockets)):
        fabric = subject.spec.fabric(name)
        if fabric and nccl.nodes not in {attach.nodes for attach in fabric.attach}:
            yield Problem((*nccl.path, key), f"{name} serves no NIC of {nccl.nodes}.", "Name a fabric that does.")
    data = subject.spec.fabric(nccl.fabric)
    if data and data.technology == "ethernet":
        yield Problem((*nccl.path, "fabric"), f"{nccl.fabric} carries no RDMA.", "Name a RoCE or InfiniBand fabric.")
    sockets = subject.spec.fabric(nccl.sockets)
    if sockets and sockets.addressing is None:
        yield Problem((*nccl.path, "sockets"), f"{nccl.sockets} has no IP addresses.", "Name an Ethernet fabric.")
