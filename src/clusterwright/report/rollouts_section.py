"""The chapter on rollouts: what was changed on the cluster, by whom and why, from the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.report.page import Block, Cell, Section, Table, plural

if TYPE_CHECKING:
    from clusterwright.report.rollout_history import Rollout

_COLUMNS = ("Rollout", "Began", "By", "Why", "Git revision", "Manifest", "Waves", "Devices failed", "Seconds", "End")
_STYLES = {"done": "good", "stopped": "bad", "aborted": "warning", "paused": "warning", "open": "warning"}


def rollouts_section(rollouts: tuple[Rollout, ...]) -> Section | None:
    """The rollouts, newest first, with the overrides that somebody answered for; None without a log."""
    if not rollouts:
        return None
    newest = rollouts[::-1]
    table = Table(
        "rollouts",
        "Rollouts, newest first",
        _COLUMNS,
        tuple(_row(rollout) for rollout in newest),
        frozenset({"Waves", "Devices failed", "Seconds"}),
    )
    answers = tuple(
        (Cell(rollout.name, "code"), Cell(each["what"]), Cell(each["reason"]), Cell(each["who"]))
        for rollout in newest
        for each in rollout.entries[0]["answers"]
    )
    overridden = Table("overrides", "What somebody answered for", ("Rollout", "What", "Why", "Who"), answers)
    text = f"{plural(len(rollouts), 'rollout')} in the audit log, whose chain is unbroken."
    return Section("rollouts", "Rollouts", (Block("", text, tables=(table, *((overridden,) if answers else ()))),))


def _row(rollout: Rollout) -> tuple[Cell, ...]:
    return (
        Cell(rollout.name, "code"),
        Cell(rollout.started),
        Cell(f"{rollout.who}@{rollout.host}"),
        Cell(rollout.reason),
        Cell(rollout.commit[:12], "code"),
        Cell(rollout.manifest[:12], "code"),
        Cell(f"{rollout.waves_done} of {rollout.waves}", "number"),
        Cell(str(len(rollout.failed)), "number"),
        Cell(f"{rollout.duration_s:.0f}", "number"),
        Cell(rollout.end, _STYLES.get(rollout.end, "")),
    )
