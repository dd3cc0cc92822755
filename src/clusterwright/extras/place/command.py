"""``clusterwright place``: the nodes and GPUs of a job's ranks, and the traffic across each layer of the topology."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import did_you_mean

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.workload import Job

_LARGEST_SEED = 2**32 - 1


@click.command("place")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--job", "name", help="The job, by its name in the spec.  [default: the only one]")
@click.option("--failed", multiple=True, metavar="NODE", help="A node to exclude; may be repeated.")
@click.option(
    "--seed", type=click.IntRange(0, _LARGEST_SEED), default=1, show_default=True, help="Seed of the random placement."
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "rankfile", "hostfile"]),
    default="text",
    show_default=True,
    help="rankfile: Open MPI's; hostfile: a line a rank, for Slurm's --distribution=arbitrary.",
)
def place_command(spec: Path, name: str | None, failed: tuple[str, ...], seed: int, output: str) -> int:
    """Places a job of SPEC with little traffic across the upper layers, beside linear and random placements.

    Drained nodes, nodes out of service and nodes with a cable out of service are left out, as are --failed ones.

    Exit status: 0 placed, 2 could not run: no such job, or no room for it.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.extras.place.placement import linear, place, shuffled
    from clusterwright.extras.place.room import room_for
    from clusterwright.extras.place.text import PlacementComparison, as_document, hostfile, rankfile, text

    plan, _ = plan_with_findings(spec)
    job = _job(plan, name)
    room = room_for(plan, job, failed)
    planned = place(room, job)
    if output == "rankfile":
        click.echo(rankfile(room, planned), nl=False)
    elif output == "hostfile":
        click.echo(hostfile(room, planned), nl=False)
    else:
        comparison = PlacementComparison(
            cluster=plan.name,
            job=job,
            room=room,
            planned=planned,
            linear=linear(room, job),
            random=shuffled(room, job, seed),
            seed=seed,
        )
        answer = json.dumps(as_document(comparison), indent=1) if output == "json" else text(comparison)
        click.echo(answer)
    return 0


def _job(plan: Plan, name: str | None) -> Job:
    names = [job.name for job in plan.spec.jobs]
    if not names:
        raise ClusterwrightError(f"{plan.name} describes no jobs; add one under `jobs:`.")
    if name is None and len(names) == 1:
        name = names[0]
    chosen_job = plan.spec.job(name) if name is not None else None
    if chosen_job is None:
        hint = did_you_mean(name or "", names, f"There are: {', '.join(names)}.")
        problem = f'{plan.name} describes no job "{name}".' if name else "Say which with --job."
        raise ClusterwrightError(f"{problem} {hint}")
    return chosen_job
