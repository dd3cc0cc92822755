"""The chapter on rollouts: changes of the cluster, with operators and reasons, from the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.and_more import and_more
from clusterwright.report.page import Block, Cell, PageTable, Section, plural
from clusterwright.report.sections.gates import gates_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.report.rollout_history import Rollout

_COLUMNS = ("Rollout", "Action", "Began", "By", "Why", "Git revision", "Manifest", "Waves", "Devices", "Seconds", "End")
_DETAILED = 10  # rollouts shown wave by wave: a log of years would fill the page
_WARNINGS = 40  # a lost execution node has a warning for each of its racks
_STYLES = {"done": "good", "stopped": "bad", "aborted": "warning", "paused": "warning", "open": "warning"}


def rollouts_section(rollouts: tuple[Rollout, ...]) -> Section | None:
    """The rollouts, newest first, with the overrides and the gates of the last; None without a log."""
    if not rollouts:
        return None
    newest = rollouts[::-1]
    table = PageTable(
        name="rollouts",
        caption="Rollouts, newest first",
        columns=_COLUMNS,
        rows=tuple(_row(rollout) for rollout in newest),
    )
    overrides: list[tuple[Cell, ...]] = []
    warned: list[tuple[Cell, ...]] = []
    for rollout in newest:
        name = Cell(rollout.name, "code")
        overrides += [(name, *_override_cells(answer)) for answer in rollout.answers]
        warned += [(name, Cell(place), Cell(and_more(units, 1)), Cell(line)) for place, line, units in rollout.warnings]
    overridden = PageTable(
        name="overrides",
        caption="Overrides and their owners",
        columns=("Rollout", "What", "Why", "Who"),
        rows=tuple(overrides),
    )
    remaining = max(len(warned) - _WARNINGS, 0)
    note = f"{remaining:,} more: clusterwright audit show ROOT ROLLOUT" if remaining else ""
    warnings = PageTable(
        name="warnings",
        caption="What was warned of",
        columns=("Rollout", "Where", "About", "What"),
        rows=tuple(warned[:_WARNINGS]),
        note=note,
    )
    text = f"{plural(len(rollouts), 'rollout')} in the audit log, whose chain is unbroken."
    blocks = [gates_block(rollout) for rollout in newest]
    in_waves = [block for block in blocks if block is not None]
    if len(in_waves) > _DETAILED:
        text += f" Of the {len(in_waves):,} that went in waves the last {_DETAILED} are shown wave by wave."
    tables = [table]
    if overrides:
        tables.append(overridden)
    if warned:
        tables.append(warnings)
    first = Block("", text, tables=tuple(tables))
    return Section("rollouts", "Rollouts", (first, *in_waves[:_DETAILED]))


def _override_cells(answer: Mapping[str, str]) -> tuple[Cell, ...]:
    return Cell(answer["what"]), Cell(answer["reason"]), Cell(answer["who"])


def _row(rollout: Rollout) -> tuple[Cell, ...]:
    return (
        Cell(rollout.name, "code"),
        Cell(rollout.action),
        Cell(rollout.started),
        Cell(rollout.by),
        Cell(rollout.reason),
        Cell(_revision(rollout), "code"),
        Cell(rollout.manifest[:12], "code"),
        Cell(f"{rollout.waves_done} of {rollout.waves}" if rollout.waves else ""),
        Cell(_devices(rollout)),
        Cell(f"{rollout.duration_s:.0f}", "number"),
        Cell(rollout.end, _STYLES.get(rollout.end, "")),
    )


def _revision(rollout: Rollout) -> str:
    """The commit of the spec; its files may have differed from it."""
    return f"{rollout.commit[:12]}, changed" if rollout.is_modified else rollout.commit[:12]


def _devices(rollout: Rollout) -> str:
    """The devices' results: failed ones of waves, or all of a refresh or removal."""
    if rollout.failed:
        return f"{len(rollout.failed)} failed"
    return ", ".join(f"{count:,} {result}" for result, count in rollout.devices.items())
