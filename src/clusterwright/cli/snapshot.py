"""``clusterwright snapshot``: the switches' files as input for an independent network verifier."""

from __future__ import annotations

from pathlib import Path

import click

from clusterwright.cli.terminal import progress
from clusterwright.finding import ClusterwrightError

_EXIT_FINDINGS = 1


@click.command("snapshot")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The directory to write; replaced as a whole.",
)
@click.option("--only", multiple=True, metavar="GLOB", help="Only switches whose name matches; may be repeated.")
def snapshot_command(spec: Path, out: Path, only: tuple[str, ...]) -> int:
    """Writes the EOS and SONiC switches of SPEC as a snapshot for Batfish, with the cables between them.

    The documentation's page on Ethernet switches lists the parts of it that Batfish supports.

    Exit status: 0 written, 1 the spec has errors, 2 could not run.
    """
    from clusterwright.cli.planning import sound_plan
    from clusterwright.cli.render import choose
    from clusterwright.output.snapshot import applies, snapshot
    from clusterwright.output.tree import write_tree

    plan = sound_plan(spec)
    if plan is None:
        return _EXIT_FINDINGS
    switches = [name for name in choose(plan, only) if applies(plan, plan.by_name[name])]
    if not switches:
        raise ClusterwrightError(f"none of the chosen devices of {plan.name} runs EOS or SONiC")
    write_tree(snapshot(plan, switches), out, plan.name)
    progress(f"{plan.name}: {len(switches):,} switches, in {out}")
    return 0
