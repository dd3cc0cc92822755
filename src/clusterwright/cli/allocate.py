"""``clusterwright allocate``: record places and addresses, so that they stay while the spec grows."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

import clusterwright
from clusterwright import durable
from clusterwright.cli.terminal import progress

_EXIT_DIFFERENT = 1


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--cables",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="A point-to-point list of the installed cables (A-Node, A-Port, Z-Node, Z-Port): they keep their ports.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where the file would change.")
def allocate(spec: Path, cables: Path | None, check: bool) -> int:
    """Records places and addresses in the allocation file beside SPEC: cluster.allocated.yaml beside cluster.yaml.

    Recorded places stay as they are. Additions of the spec are recorded, removed devices are dropped: their ports and
    addresses are not assigned again during the spec's quarantine, from today on. Every other command reads the file.

    Exit status: 0 written or up to date, 1 would change (--check), 2 could not run.
    """
    from clusterwright.compare.plans import compare_plans
    from clusterwright.compare.text import standing_lines
    from clusterwright.plan.allocation.imported import pin
    from clusterwright.plan.allocation.record import record
    from clusterwright.plan.allocation.writing import allocation_text
    from clusterwright.spec.allocated.facts import NOTHING_STANDS
    from clusterwright.spec.allocated.point_to_point import read_cables
    from clusterwright.spec.load import allocation_file

    today = datetime.now(UTC).date()
    plan = clusterwright.plan(clusterwright.load(spec))
    before = plan
    if cables is not None:
        plan = pin(plan, read_cables(cables), str(cables), today)
    stands = record(plan, today, before.spec.allocated)
    text = allocation_text(plan.spec, stands)
    file = allocation_file(spec)
    is_same = file.is_file() and file.read_text(encoding="utf-8") == text
    if not (check or is_same):
        durable.replace(file, text.encode(), 0o666)  # committed with the spec: readable like the spec
    previous = before.spec.allocated if before.spec.allocated.is_own else NOTHING_STANDS
    added = len(stands.switches) + len(stands.nodes) - len(previous.switches) - len(previous.nodes)
    if is_same:
        outcome = "is up to date"
    elif check:
        outcome = f"would change ({added:+,} devices)"
    else:
        outcome = f"has {added:+,} devices"
    progress(f"{file} {outcome}; {stands.freed:,} ports and addresses rest")
    if cables is not None:
        sys.stdout.writelines(f"{line}\n" for line in standing_lines(compare_plans(before, plan), as_laid=True))
    return _EXIT_DIFFERENT if check and not is_same else 0
