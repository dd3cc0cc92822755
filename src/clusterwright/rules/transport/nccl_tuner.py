"""CW422: the tuner's table against itself and against what the fabric and the job's nodes can do."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.job import NcclProfile, TunerRow
from clusterwright.spec.model import ClusterSpec


@rule("CW422", Severity.ERROR)
def idle_row(subject: Subject) -> Iterator[Problem]:
    """Rows of the tuner's table that no collective can reach."""
    for nccl in subject.spec.nccl_profiles:
        rows = nccl.tuner.rows if nccl.tuner is not None else ()
        for at, row in enumerate(rows):
            reason = _idle(subject.spec, nccl, row)
            if reason is not None:
                yield Problem(row.path, f"This row never applies: {reason}.", "Mend it, or take it away.")
                continue
            for number, earlier in enumerate(rows[:at], 1):
                if _covers(earlier, row):
                    message = f"This row never applies: row {number} fits everything that it fits."
                    yield Problem(row.path, message, f"Put it before row {number}, or take it away.")
                    break


def _idle(spec: ClusterSpec, nccl: NcclProfile, row: TunerRow) -> str | None:
    groups = [group for group in spec.node_groups if group.name in nccl.nodes]
    fabric = spec.fabric(nccl.fabric)
    if row.min_bytes > row.max_bytes:
        return f"its smallest message has {row.min_bytes:,} bytes, its largest {row.max_bytes:,}"
    served = {each.nodes for each in fabric.attach} if fabric is not None else set()
    count = sum(group.count for group in groups)
    if served.issuperset(nccl.nodes) and row.nodes is not None and row.nodes > count:  # CW406 says the rest
        has = "has" if len(nccl.nodes) == 1 else "have"
        return f"it is for {row.nodes:,} nodes, and {' and '.join(nccl.nodes)} {has} {count:,}"
    manager = fabric.subnet_manager if fabric is not None else None
    if row.algorithm.startswith("collnet") and not (manager is not None and manager.sharp):
        return f"{row.algorithm} needs switches that reduce, and {nccl.fabric} has no SHARP"
    return None


def _covers(earlier: TunerRow, row: TunerRow) -> bool:
    """Whether an earlier row fits all collectives that a later one does."""
    return (
        earlier.collective == row.collective
        and earlier.min_bytes <= row.min_bytes
        and earlier.max_bytes >= row.max_bytes
        and earlier.nodes in (None, row.nodes)
        and earlier.ranks in (None, row.ranks)
    )
