"""An acceptance plan as text for a terminal, or as Markdown for a ticket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.extras.bringup.steps import Acceptance, Round, Step, Threshold

SHOWN_COMMANDS = 8  # of a step; JSON has all
SHOWN_ROUNDS = 32


def text_lines(acceptance: Acceptance, *, markdown: bool) -> Iterator[str]:
    """The lines of one plan."""
    title = f"{acceptance.cluster}: acceptance of {acceptance.group} on {acceptance.fabric}"
    yield f"# {title}" if markdown else title
    yield ""
    yield f"{acceptance.nodes:,} nodes, {acceptance.technology}. Each step rests on those before it."
    for number, step in enumerate(acceptance.steps, 1):
        yield ""
        yield f"## {number}. {step.title}" if markdown else f"{number}. {step.title}"
        yield from _step(step, markdown=markdown)


def _step(step: Step, *, markdown: bool) -> Iterator[str]:
    yield ""
    if markdown:
        yield "```"
    command_indent, round_indent = ("", "") if markdown else ("     ", "   ")
    for command in step.commands[:SHOWN_COMMANDS]:
        yield f"{command_indent}[{command.where}] {command.line}"
    more = len(step.commands) - SHOWN_COMMANDS
    if more > 0:
        yield f"{command_indent}… and {more} more of the kind (--format json)"
    if markdown:
        yield "```"
    yield ""
    bullet = "- " if markdown else "   - "
    yield from (f"{bullet}{line}" for line in step.must_hold)
    yield from (f"{bullet}{line}" for line in _limits(step.thresholds))
    yield f"{bullet}otherwise: {step.otherwise}"
    yield from _rounds(step.rounds, round_indent)


def _limits(thresholds: Sequence[Threshold]) -> Iterator[str]:
    """Thresholds, those of equal value and formula on one line."""
    groups: dict[tuple[str, str], list[Threshold]] = {}
    for threshold in thresholds:
        bound = f"{threshold.relation} {threshold.value:,.6g} {threshold.unit}".rstrip()
        groups.setdefault((bound, threshold.formula), []).append(threshold)
    for (bound, formula), group_thresholds in groups.items():
        yield f"{', '.join(item.name for item in group_thresholds)} {bound} ({formula})"


def _rounds(rounds: Sequence[Round], indent: str) -> Iterator[str]:
    if not rounds:
        return
    yield ""
    for number, pairs in enumerate(rounds[:SHOWN_ROUNDS], 1):
        shown = ", ".join(f"{first} – {second}" for first, second in pairs)
        yield f"{indent}round {number}: {shown}"
    if len(rounds) > SHOWN_ROUNDS:
        yield f"{indent}… and {len(rounds) - SHOWN_ROUNDS} more rounds (--format json)"
