"""The gates between the waves of a rollout and their answers, from the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from clusterwright.report.page import Block, Cell, PageTable, code, number

if TYPE_CHECKING:
    from clusterwright.report.rollout_history import Attempt, GateRecord, Rollout

_SHOWN = 20  # complaints shown of a rollout; the record has all
_LONGEST = 200  # characters of one: a node without its GPUs has a page of them
_COUNTS, _IS_TOLD = Cell("yes", "bad"), Cell("no", "quiet")
_NOTHING = "–"


def gates_block(rollout: Rollout) -> Block | None:
    """The gates of a rollout, their answers wave by wave, and unhealthy devices; None without waves.

    Skipped gates are listed with the others, with the reason.
    """
    if not rollout.waves:
        return None
    questions, attempts = rollout.questions, rollout.attempts
    tables = [_gates(rollout, questions)] if questions or rollout.left_out else []
    tables += [_waves(rollout, questions, attempts)] if attempts else []
    complaints = list(chain.from_iterable(map(_complaints, attempts)))
    tables += [_complaint_table(rollout, complaints)] if complaints else []
    text = "" if attempts else "No wave was gone through."
    return Block(f"Between the waves of {rollout.name}", text, tables=tuple(tables))


def _gates(rollout: Rollout, questions: tuple[GateRecord, ...]) -> PageTable:
    asked = tuple(_gate_row(question) for question in questions)
    nothing = Cell(_NOTHING, "number")
    left_out = tuple(
        (code(gate), Cell(f"not asked: {why}", "warning"), nothing, nothing, nothing, nothing)
        for gate, why in rollout.left_out
    )
    return PageTable(
        name=f"gates-{rollout.name}",
        caption="What was asked after each wave",
        columns=("Gate", "Asks", "Within", "May fail in a wave", "Devices asked", "Not well"),
        rows=(*asked, *left_out),
    )


def _gate_row(question: GateRecord) -> tuple[Cell, ...]:
    return (
        code(question.gate),
        Cell(question.asks or "not noted in this record"),
        Cell(_NOTHING if question.deadline_s is None else f"{question.deadline_s:,} s", "number"),
        Cell("the rollout's" if question.budget is None else f"{question.budget:,}", "number"),
        number(question.asked),
        Cell(f"{question.wrong:,}", "number bad" if question.wrong else "number"),
    )


def _waves(rollout: Rollout, questions: tuple[GateRecord, ...], attempts: tuple[Attempt, ...]) -> PageTable:
    return PageTable(
        name=f"gate-waves-{rollout.name}",
        caption="Answers wave by wave",
        columns=("Wave", "Layer", "Devices", *(question.gate for question in questions), "Seconds", "Then"),
        rows=tuple(_wave_row(attempt, questions) for attempt in attempts),
        note="A wave that was done again has a line for each time.",
    )


def _wave_row(attempt: Attempt, questions: tuple[GateRecord, ...]) -> tuple[Cell, ...]:
    return (
        Cell(f"{attempt.number}, canary" if attempt.is_canary else f"{attempt.number}"),
        Cell(attempt.layer),
        number(attempt.devices),
        *(_answer(attempt.gates.get(question.gate)) for question in questions),
        Cell(f"{attempt.duration_s:,.0f}", "number"),
        Cell(f"stopped: {attempt.stopped}", "bad") if attempt.stopped else Cell("finished", "good"),
    )


def _answer(answer: Mapping[str, Any] | None) -> Cell:
    if answer is None:
        return Cell("not asked", "quiet")
    if not answer["asked"]:
        return Cell("none to ask", "quiet")
    wrong = len(answer["wrong"])
    if wrong:
        return Cell(f"{wrong:,} of {answer['asked']:,} not well", "bad")
    return Cell(f"{answer['asked']:,} well", "good")


def _complaints(attempt: Attempt) -> Iterator[tuple[Cell, ...]]:
    """Devices without their files, complaints of each gate, and notes without effect on the budget."""
    by_gate = set(chain.from_iterable(answer["wrong"] for answer in attempt.gates.values()))
    wave = Cell(f"{attempt.number}")
    for device, why in attempt.failed.items():
        if device not in by_gate:
            yield wave, Cell("did not take its files"), code(device), _COUNTS, _short(why)
    for gate, answer in attempt.gates.items():
        for device, why in answer["wrong"].items():
            yield wave, code(gate), code(device), _COUNTS, _short(why)
    for gate, answer in attempt.gates.items():
        for line in answer["told"]:
            yield wave, code(gate), Cell(_NOTHING), _IS_TOLD, _short(line)


def _complaint_table(rollout: Rollout, rows: list[tuple[Cell, ...]]) -> PageTable:
    remaining = max(len(rows) - _SHOWN, 0)
    more = f"{remaining:,} more, and all" if remaining else "All"
    return PageTable(
        name=f"complaints-{rollout.name}",
        caption="Devices that were not well, and notes",
        columns=("Wave", "Gate", "Device", "Counts", "What"),
        rows=tuple(rows[:_SHOWN]),
        note=f"{more} in full: clusterwright audit show ROOT {rollout.name}",
    )


def _short(text: str) -> Cell:
    return Cell(shorten(text, _LONGEST, placeholder=" …"))
