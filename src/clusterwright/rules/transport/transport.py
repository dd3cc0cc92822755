"""CW4xx: lossless classes, equal on every hop, with their marking, headroom, and hashing among equal paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.intent.hashing import hashing_of
from clusterwright.intent.headroom import divide_pool, headroom_cells, reserved_cells, smallest_share_cells
from clusterwright.intent.traffic_classes import DSCPS, default_class, lossless_numbers
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import EXTERNAL, system_of
from clusterwright.spec.job import NcclProfile

# RoCE MTU 4096 plus Ethernet, IPv6, UDP, BTH, RETH and ICRC fit an Ethernet MTU of 4,200 bytes with room to spare.
ROCE_MTU = 4200


@rule("CW401", Severity.ERROR)
def dscp_twice(subject: Subject) -> Iterator[Problem]:
    """DSCPs of two classes of a fabric."""
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
    """Queues and PFC priorities of two classes of a fabric."""
    for fabric in subject.spec.fabrics:
        queues: dict[int, str] = {}
        priorities: dict[int, str] = {}
        for item in fabric.classes:
            first = queues.setdefault(item.queue, item.name)
            if first != item.name:
                free = _free(other.queue for other in fabric.classes)
                message = f"Queue {item.queue} belongs to {first} already."
                yield Problem((*item.path, "queue"), message, f"Free queues: {free}.")
            if item.priority is None:
                continue
            first = priorities.setdefault(item.priority, item.name)
            if first != item.name:
                free = _free(other.priority for other in fabric.classes)
                message = f"Priority {item.priority} belongs to {first} already."
                yield Problem((*item.path, "priority"), message, f"Free priorities: {free}.")


def _free(taken: Iterable[int | None]) -> str:
    """The free queues or priorities, of eight."""
    return ", ".join(str(number) for number in sorted(set(range(8)) - set(taken))) or "none"


@rule("CW430", Severity.ERROR)
def dscp_in_no_class(subject: Subject) -> Iterator[Problem]:
    """Ethernet fabrics with DSCPs in no class, by a lack of lossy classes."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "infiniband" or not fabric.classes or default_class(fabric) is not None:
            continue
        named = set(chain.from_iterable(item.dscp for item in fabric.classes))
        unnamed = [code for code in range(DSCPS) if code not in named]
        if unnamed:
            yield Problem(
                (*fabric.path, "classes"),
                f"No class of {fabric.name} takes DSCP {spans(unnamed)}: all its classes are lossless.",
                "Add a class without `priority` and with `dscp: []`.",
            )


def spans(codes: Iterable[int]) -> str:
    """Numbers in ascending order as text, with runs shortened to 4-7."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][-1] + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(texts)


@rule("CW403", Severity.ERROR)
def lossless_data(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics without a lossless class, and NCCL data in a lossy or unknown one."""
    spec = subject.spec
    for fabric in spec.fabrics:
        has_lossless_class = any(item.priority is not None for item in fabric.classes)
        if fabric.technology == "roce" and not fabric.is_provided and not has_lossless_class:
            yield Problem(
                (*fabric.path, "classes") if fabric.classes else (*fabric.path, "technology"),
                f"{fabric.name} is RoCE and has no class with a PFC priority.",
                "Give the class of its RDMA traffic a `priority`, the same number on switches and NICs.",
            )
    for nccl in spec.nccl_profiles:
        target = spec.fabric(nccl.fabric)
        if target is not None and target.technology == "roce" and not target.is_provided:
            yield from _data_class(nccl, target)


def _data_class(nccl: NcclProfile, fabric: Fabric) -> Iterator[Problem]:
    lossless = [item.name for item in fabric.classes if item.priority is not None]
    hint = f"Name a lossless class of {fabric.name}: {', '.join(lossless) or 'none'}."
    if nccl.data_class is None:
        message = f"NCCL has no `data_class`, and its data would travel as best effort on {fabric.name}."
        yield Problem((*nccl.path, "fabric"), message, hint)
        return
    fault = _class_fault(fabric, nccl.data_class)
    if fault is not None:
        message = f"Class {nccl.data_class} of {fabric.name} {fault}."
        yield Problem((*nccl.path, "data_class"), message, hint)


def _class_fault(fabric: Fabric, name: str) -> str | None:
    """The reason why a class cannot carry lossless data; None without one."""
    for item in fabric.classes:
        if item.name == name:
            if item.priority is None:
                return "is lossy"
            return None if item.dscp else "has no DSCP"
    return "does not exist"


@rule("CW423", Severity.ERROR)
def second_lossless(subject: Subject) -> Iterator[Problem]:
    """Classes of an Ethernet fabric with a second PFC priority; a shared one is left to CW402."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "infiniband":
            continue
        lossless = [item for item in fabric.classes if item.priority is not None]
        for item in lossless[1:]:
            if item.priority != lossless[0].priority:
                message = f"{item.name} is lossless on {fabric.name}, as {lossless[0].name} is: one class may be."
                hint = f"Remove its `priority`, or put its DSCPs into {lossless[0].name}."
                yield Problem((*item.path, "priority"), message, hint)


@rule("CW405", Severity.ERROR)
def roce_mtu(subject: Subject) -> Iterator[Problem]:
    """RoCE fabrics with an Ethernet MTU too small for RDMA packets of 4,096 bytes."""
    for fabric in subject.spec.fabrics:
        if fabric.technology == "roce" and fabric.mtu < ROCE_MTU:
            yield Problem(
                (*fabric.path, "mtu"),
                f"MTU {fabric.mtu} of {fabric.name} does not carry RDMA packets of 4,096 bytes.",
                f"Use 9000, or at least {ROCE_MTU}.",
            )


@rule("CW415", Severity.ERROR)
def marking_thresholds(subject: Subject) -> Iterator[Problem]:
    """Classes with contradicting `ecn` and `marking`."""
    for fabric in subject.spec.fabrics:
        for item in fabric.classes:
            if item.ecn == "mark" and item.marking is None:
                message = f"{item.name} marks packets and has no thresholds."
                yield Problem((*item.path, "ecn"), message, "Add `marking: {min_kbytes, max_kbytes, percent}`.")
            elif item.ecn != "mark" and item.marking is not None:
                message = f"{item.name} has thresholds and does not mark."
                yield Problem((*item.path, "marking"), message, "Write `ecn: mark`, or remove `marking`.", key=True)
            elif item.marking is not None and item.marking.min_kbytes >= item.marking.max_kbytes:
                low, high = item.marking.min_kbytes, item.marking.max_kbytes
                message = f"{item.name} marks from {low} kB and fully from {high} kB, which is not later."
                yield Problem((*item.path, "marking", "min_kbytes"), message, f"Use less than {high}.")


@rule("CW416", Severity.ERROR)
def strict_and_lossless(subject: Subject) -> Iterator[Problem]:
    """Classes with strict priority and a PFC priority."""
    for fabric in subject.spec.fabrics:
        for item in fabric.classes:
            if item.strict and item.priority is not None:
                message = f"{item.name} is served before all others and is lossless too."
                yield Problem((*item.path, "strict"), message, "Give it a `weight` instead.")


@rule("CW417", Severity.ERROR)
def strict_below_weighted(subject: Subject) -> Iterator[Problem]:
    """Strict classes in a queue below that of a weighted class."""
    for fabric in subject.spec.fabrics:
        weighted = max((item.queue for item in fabric.classes if not item.strict), default=-1)
        for item in fabric.classes:
            if item.strict and item.queue < weighted:
                message = f"{item.name} is strict in queue {item.queue}, and queue {weighted} has a weight."
                yield Problem((*item.path, "queue"), message, f"Use a queue above {weighted}.")


@rule("CW432", Severity.ERROR)
def headroom_fits(subject: Subject) -> Iterator[Problem]:
    """Tiers of a lossless fabric with more headroom than the pool of their busiest switch, or with an unknown pool."""
    if any(_overpromised(subject, lambda: subject.cables_at_most)):
        yield from _overpromised(subject, lambda: subject.longest_cables)


def _overpromised(subject: Subject, longest: Callable[[], Mapping[tuple[str, int, str], float]]) -> Iterator[Problem]:
    """The problems with headroom, by the longest cable of each fabric, tier and side."""
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        if fabric.technology == "infiniband" or not lossless_numbers(fabric):
            continue
        for depth, tier in enumerate(fabric.tiers):
            system = system_of(tier.model)
            if system is None or not system.sizes_headroom:
                continue
            buffer = tier.model.buffer
            if buffer is None:
                yield Problem(
                    (*tier.path, "model"),
                    f"The catalogue does not say how large the packet buffer of {tier.model.name} is, so no headroom"
                    f" is known for the lossless class of {fabric.name} on {tier.role}.",
                    "Add `buffer:` with its source to the model.",
                )
                continue
            ports, wanted = promised(fabric, skeleton, depth, longest())
            lossless = len(lossless_numbers(fabric))
            reserved = reserved_cells(lossless, len(fabric.classes) - lossless, ports)
            shared = divide_pool(buffer, wanted).shared_cells - reserved
            if shared < smallest_share_cells(buffer, ports, fabric.mtu):
                ratio = wanted / buffer.pool_cells
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.role} needs {wanted:,} cells of headroom on {ports} ports, {ratio:.2f} of the"
                    f" {buffer.pool_cells:,} that a pool of {tier.model.name} has: too little is left to share.",
                    "Use fewer or slower ports, shorter cables or fewer lossless classes, or another model.",
                )


def promised(
    fabric: Fabric, skeleton: FabricSkeleton, depth: int, longest: Mapping[tuple[str, int, str], float]
) -> tuple[int, int]:
    """Ports of the tier's busiest switch, and their cells of headroom by the longest cable on each side.

    ``longest`` has the length in metres by fabric, tier and side.
    """
    tier = fabric.tiers[depth]
    links = skeleton.links_down
    down = max(
        (links[seat_index] for seat_index, seat in enumerate(skeleton.seats) if seat.tier == depth), key=len, default=[]
    )
    cells = len(down) * headroom_cells(max(down, default=0), longest.get((fabric.name, depth, "down"), 0), fabric.mtu)
    up = tier.up
    uplinks = 0 if up is None else up.links
    if up is not None:
        cells += up.links * headroom_cells(up.speed_gbps, longest.get((fabric.name, depth, "up"), 0), fabric.mtu)
    return len(down) + uplinks, cells * len(lossless_numbers(fabric))


@rule("CW431", Severity.ERROR)
def hash_of_its_own(subject: Subject) -> Iterator[Problem]:
    """Tiers choosing among equal paths without a hash function different from their neighbours'."""
    for skeleton in subject.skeleton.fabrics:
        fabric, joined = skeleton.fabric, skeleton.joined_tiers()
        if fabric.technology == "infiniband":
            continue
        tiers = hashing_of(fabric, joined)
        is_lossless = bool(lossless_numbers(fabric))
        chooses = {tier.tier.role for tier in tiers if tier.chooses or is_lossless}
        beside: set[str] = set()
        for pair in joined:
            roles = {tier.role for tier in pair}
            if roles <= chooses:
                beside |= roles
        for tier in tiers:
            if tier.function is None and tier.tier.role in beside and tier.tier.model.network_os != EXTERNAL:
                role = tier.tier.role
                message = f"{role} has no ECMP hash that differs from those of the other tiers: {tier.reason}."
                hint = "Use a model whose system has other hash seeds, or plan fewer tiers."
                if tier.tier.model.asic is None:
                    hint = f"Name the chip of {tier.tier.model.name} by `asic` in its hardware file."
                yield Problem((*tier.tier.path, "model"), message, hint)
