"""``clusterwright diff``: the consequences of a change of a spec, before any change on a device."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.terminal import progress
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterwright.compare.changes import ConfigGroup
    from clusterwright.plan.model import Plan

_EXIT_DIFFERENT = 1
MARKDOWN = "markdown"
_NO_ANSWER = "nothing of the kind"


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--format", "form", type=click.Choice(("text", "json", MARKDOWN)), default="text", show_default=True)
@click.option(
    "--cables",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Write the work order for the data-centre staff to this file.",
)
@click.option("--config/--no-config", default=True, help="Compare rendered files as well (default), or only the model.")
@click.option(
    "--lines", type=click.IntRange(0), default=12, show_default=True, help="Diff lines shown a file; 0 shows all."
)
@click.option("--prove", is_flag=True, help="With markdown: prove both and name the proofs whose answer changes.")
def diff(before: str, *, after: str, form: str, cables: Path | None, config: bool, lines: int, prove: bool) -> int:
    """Compares two specs: moves first, then zones, flows, devices and cables, then configuration line by line.

    A and B are spec files, or REV:path in git, read from that revision with the files they extend. Devices with the
    same changed lines are shown together. The format markdown is a comment for a pull request: a table of the changed
    parts, with the waves of the change and the spec's jobs in them, and all lines folded below.

    Exit status: 0 same, 1 different, 2 could not run.
    """
    from clusterwright.compare.configuration import config_changes
    from clusterwright.compare.document import document
    from clusterwright.compare.images import image_changes, image_lines
    from clusterwright.compare.markdown import markdown_lines
    from clusterwright.compare.plans import compare_plans
    from clusterwright.compare.text import text_lines
    from clusterwright.compare.work_order import work_order, work_order_csv
    from clusterwright.lists.writing import write_lines
    from clusterwright.text.json_lines import dump_lines

    plan_before, plan_after = _plan(before), _plan(after)
    changes = compare_plans(plan_before, plan_after)
    groups = config_changes(plan_before, plan_after, changes.devices.renamed) if config else None
    images = image_changes(plan_before, plan_after, changes.devices.renamed) if config else ()
    if cables is not None:
        write_lines(cables, [work_order_csv(work_order(plan_before, plan_after, changes.cables))])
        progress(f"wrote {cables}")
    if prove and form != MARKDOWN:
        raise ClusterwrightError("--prove is for --format markdown.")
    if form == MARKDOWN:
        claims = _claims(plan_before, plan_after) if prove else None
        outlook = _outlook(plan_before, plan_after, groups, changes.devices.renamed) if groups else []
        text = markdown_lines(plan_before, plan_after, changes, groups, claims, most_lines=lines, outlook=outlook)
        sys.stdout.writelines(f"{line}\n" for line in text)
    elif form == "json":
        report = {**document(changes, groups), "images": [asdict(item) for item in images]}
        sys.stdout.write(dump_lines(report).decode())
    else:
        sys.stdout.writelines(f"{line}\n" for line in text_lines(changes, groups, lines))
        if images:
            sys.stdout.writelines(f"{line}\n" for line in image_lines(images))
    return _EXIT_DIFFERENT if changes or groups or images else 0


def _outlook(
    before: Plan, after: Plan, groups: Sequence[ConfigGroup], renamed: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Rows on waves and jobs; with clusterwright-core alone, a row with the missing package."""
    try:
        from clusterwright.rollout.preview.outlook import expected_disturbance, outlook_rows
    except ModuleNotFoundError as error:
        missing = f"not counted: they need the Python package {error.name}, which `pip install clusterwright` brings"
        return [("jobs and waves", missing)]

    return outlook_rows(expected_disturbance(before, after, groups, renamed))


def _claims(before: Plan, after: Plan) -> list[tuple[str, str, str]]:
    """Every proof by name, with its answer before and after."""
    from clusterwright.cli.proofs import prove
    from clusterwright.cli.trees import tree_of_plan
    from clusterwright.proofs.registry import CHECKS

    def answers(plan: Plan) -> dict[str, str]:
        return {check.name: verdict.word for check, verdict in prove(tree_of_plan(plan, CHECKS), CHECKS)}

    answers_before, answers_after = answers(before), answers(after)
    rows: list[tuple[str, str, str]] = []
    for check in CHECKS:
        if check.name in answers_before or check.name in answers_after:
            answer_before = answers_before.get(check.name, _NO_ANSWER)
            answer_after = answers_after.get(check.name, _NO_ANSWER)
            rows.append((check.name, answer_before, answer_after))
    return rows


def _plan(name: str) -> Plan:
    """The plan of a spec file or ``REV:path``. Raises SpecError for errors of lint."""
    from clusterwright.compare.revision import spec_at
    from clusterwright.plan.build import build_plan
    from clusterwright.rules.engine import load_sound

    with spec_at(name) as path:
        return build_plan(load_sound(path))
