"""``clusterwright bringup``: the acceptance plan of a scalable unit, and verdicts on the tools' reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given

if TYPE_CHECKING:
    from clusterwright.extras.bringup.steps import AcceptanceLimits
    from clusterwright.extras.bringup.verdict import CheckedReport
    from clusterwright.plan.model import Plan

_EXIT_FAILED = 1


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("reports", nargs=-1, metavar="[TOOL=FILE]...")
@click.option("--group", help="The scalable unit, pod or rack to accept; with --judge, whose ports and pairs count.")
@click.option("--format", "form", type=click.Choice(("text", "markdown", "json")), default="text", show_default=True)
@click.option("--judge", multiple=True, metavar="TOOL=FILE", help="Check ibqueryerrors' or perftest's output.")
@click.option("--minutes", type=click.IntRange(1), default=60, show_default=True, help="How long counters are watched.")
@click.option(
    "--bandwidth",
    type=click.FloatRange(0.5, 1),
    default=0.97,
    show_default=True,
    help="Share of a pair's payload rate.",
)
@click.option(
    "--collective", type=click.FloatRange(0.1, 1), default=0.9, show_default=True, help="Share of a ring's ceiling."
)
def bringup(
    spec: Path,
    *,
    reports: tuple[str, ...],
    group: str | None,
    form: str,
    judge: tuple[str, ...],
    minutes: int,
    bandwidth: float,
    collective: float,
) -> int:
    """Writes the ordered acceptance plan of a group of SPEC, or checks the reports of its steps.

    Thresholds are computed from link rates and headers. More reports may follow the first one: --judge
    ibqueryerrors=FILE perftest=FILE.

    Exit status: 0 written or everything holds, 1 something does not hold, 2 could not run.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.extras.bringup.acceptance import acceptance_plans
    from clusterwright.extras.bringup.steps import AcceptanceLimits
    from clusterwright.extras.bringup.text import text_lines

    plan, _ = plan_with_findings(spec)
    limits = AcceptanceLimits(minutes, bandwidth, collective)
    if judge or reports:
        return _check_reports(plan, group, (*judge, *reports), limits, form)
    if group is None:
        raise ClusterwrightError("Name the group to accept with --group, for example a scalable unit or a pod.")
    plans = acceptance_plans(plan, group, limits)
    if form == "json":
        click.echo(json.dumps([asdict(plan) for plan in plans], indent=1, ensure_ascii=False))
    else:
        for bringup_plan in plans:
            click.echo("\n".join(text_lines(bringup_plan, markdown=form == "markdown")))
    return 0


def _check_reports(plan: Plan, group: str | None, reports: tuple[str, ...], limits: AcceptanceLimits, form: str) -> int:
    from clusterwright.plan.pod_names import group_named

    group = None if group is None else group_named(plan, group)
    checked_reports = [_checked_report(plan, group, report, limits) for report in reports]
    if form == "json":
        click.echo(json.dumps([{**asdict(checked), "holds": checked.holds} for checked in checked_reports], indent=1))
    else:
        for checked in checked_reports:
            click.echo("\n".join(_verdict_lines(checked)))
    return 0 if all(checked.holds for checked in checked_reports) else _EXIT_FAILED


def _checked_report(plan: Plan, group: str | None, report: str, limits: AcceptanceLimits) -> CheckedReport:
    from clusterwright.extras.bringup.check_bandwidth import check_bandwidth
    from clusterwright.extras.bringup.check_counters import check_counters
    from clusterwright.extras.bringup.verdict import UnreadableReportError

    checkers = {"ibqueryerrors": check_counters, "perftest": check_bandwidth}
    tool, equals, name = report.partition("=")
    if not equals or tool not in checkers:
        raise ClusterwrightError(f'"{report}" names no report. Write TOOL=FILE; tools are {", ".join(checkers)}.')
    try:
        text = read_given(Path(name)).decode("utf-8", "backslashreplace")
    except ClusterwrightError as error:
        raise UnreadableReportError(str(error)) from error
    return checkers[tool](plan, group, text, name, limits)


def _verdict_lines(checked: CheckedReport) -> Iterator[str]:
    yield f"{checked.tool}: {checked.summary}"
    for verdict in checked.verdicts:
        if verdict.reasons:
            yield f"  FAILED {verdict.subject}" + (f"  (cable {verdict.cable})" if verdict.cable else "")
            yield from (f"         {reason}" for reason in verdict.reasons)
        elif verdict.remarks and checked.tool == "ibqueryerrors":
            yield f"  note   {verdict.subject}: {', '.join(verdict.remarks)}"
