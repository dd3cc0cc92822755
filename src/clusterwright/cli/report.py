"""``clusterwright report``: a cluster as a page to read, with its CSV files."""

from __future__ import annotations

from pathlib import Path

import click

from clusterwright.cli.planning import plan_with_findings
from clusterwright.report.html import PAGE, report_files
from clusterwright.report.writing import replace_files


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The folder for the page and its CSV files."
)
def report(spec: Path, out: Path) -> int:
    """Writes a static HTML report of SPEC: totals, fabrics, racks, cabling, addresses, flows, findings, assumptions.

    The page asks nothing of the network; the CSV files beside it have every device, cable and address.

    Exit status: 0 written, 2 could not run.
    """
    plan, findings = plan_with_findings(spec)
    replace_files(out, report_files(plan, findings))
    click.echo(str(out / PAGE))
    return 0
