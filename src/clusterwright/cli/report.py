"""``clusterwright report``: a cluster as a page to read, with its CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright import chain
from clusterwright.finding import ClusterwrightError, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.model import Plan
    from clusterwright.report.device_tables import Jobs
    from clusterwright.report.sections.proofs import ProvenClaim


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
@click.option("--prove", is_flag=True, help="Render every file and prove what follows: a chapter on the proofs.")
@click.option(
    "--pages/--no-pages",
    default=True,
    show_default=True,
    help="A page for each rack and each device beside the first one.",
)
@click.option(
    "--jobs",
    "jobs_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Running jobs, from `squeue --json` or `squeue --noheader --states=running --format='%i %j %N'`, for the "
    "pages of devices; without it the spec's jobs are placed.",
)
def report(*, spec: Path, out: Path, root: Path | None, prove: bool, pages: bool, jobs_file: Path | None) -> int:
    """Writes a static HTML report of SPEC: totals, fabrics, racks, cables, addresses, flows, findings, assumptions.

    The first page is a summary for decisions; floor.html leads to a cable sheet for each rack and to the lists of pulls
    and orders, devices.html to a page for each device, search.html finds one by its name, address, GUID, serial number
    or label. The pages load nothing from the network; the CSV files beside them have every device, cable and address.

    Exit status: 0 written, 2 could not run.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.cli.spec_digest import digesting
    from clusterwright.lists.writing import remove_pages, replace_files
    from clusterwright.report.html import PAGE, leaf_files, report_files
    from clusterwright.report.leaves import FOLDERS
    from clusterwright.report.rollout_history import rollouts

    with digesting(spec) as digest:
        plan, findings = plan_with_findings(spec)
    history = rollouts(chain.read(root / "audit" / "rollouts.jsonl")) if root else ()
    if prove and any(finding.severity is Severity.ERROR for finding in findings):
        raise ClusterwrightError(f"{spec} has errors, so nothing is proven of it. Fix them, or leave out --prove.")
    claims = _proven(plan) if prove else None
    first = report_files(plan, findings, history, claims, pages=pages, digest=digest.value)
    files: dict[str, str | Iterable[str]] = dict(first)
    if pages:
        files |= leaf_files(plan, digest.value, _jobs(plan, jobs_file))
    written = replace_files(out, files)
    remove_pages((out / name for name in FOLDERS), written)
    click.echo(str(out / PAGE))
    return 0


def _jobs(plan: Plan, file: Path | None) -> Jobs:
    """The jobs of a file, or those of the spec, placed on an empty cluster."""
    from clusterwright.report.device_tables import Jobs
    from clusterwright.rollout.running_jobs import planned_jobs, running_jobs

    jobs = planned_jobs(plan)[0] if file is None else running_jobs(file, plan.by_name)
    return Jobs(nodes={job.name: job.nodes for job in jobs}, are_planned=file is None)


def _proven(plan: Plan) -> tuple[ProvenClaim, ...]:
    """Every claim about the plan's rendered files, worded as in verify."""
    from clusterwright.cli.proofs import prove
    from clusterwright.output.plain import PlainFiles
    from clusterwright.output.rendering import Rendering
    from clusterwright.proofs.declaration import Declaration
    from clusterwright.proofs.registry import CHECKS, KINDS
    from clusterwright.proofs.tree import tree_of
    from clusterwright.report.sections.proofs import ProvenClaim

    tree = tree_of(plan.name, Rendering(plan).of_kinds(KINDS), Declaration(plan), plain=PlainFiles(plan))
    return tuple(
        ProvenClaim(
            name=check.name,
            claim=check.claim,
            answer=verdict.word,
            cases=verdict.cases.count,
            cases_are=verdict.cases.name,
            open=(*map(str, verdict.counterexamples), *verdict.notes),
        )
        for check, verdict in prove(tree, CHECKS)
    )
