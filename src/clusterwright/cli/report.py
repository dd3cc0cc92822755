"""``clusterwright report``: a cluster as a page to read, with its CSV files."""

from __future__ import annotations

from pathlib import Path

import click

from clusterwright import chain


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The folder for the page and its CSV files."
)
@click.option(
    "--audit",
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The folder of a deployment (--root of up): a chapter on its rollouts.",
)
def report(spec: Path, out: Path, root: Path | None) -> int:
    """Writes a static HTML report of SPEC: totals, fabrics, racks, cables, addresses, flows, findings, assumptions.

    The page asks nothing of the network; the CSV files beside it have every device, cable and address.

    Exit status: 0 written, 2 could not run.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.report.html import PAGE, report_files
    from clusterwright.report.rollout_history import rollouts
    from clusterwright.report.writing import replace_files

    plan, findings = plan_with_findings(spec)
    history = rollouts(chain.read(root / "audit" / "rollouts.jsonl")) if root else ()
    replace_files(out, report_files(plan, findings, history))
    click.echo(str(out / PAGE))
    return 0
