"""Answers to tests of a suite: claim, number of cases, source, and unchecked parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from clusterwright.evidence.suite import SuiteTest
from clusterwright.proofs.check import Cases, ProofCheck, Verdict

ProofResult = tuple[ProofCheck, Verdict]


class AnswerKind(Enum):
    """How far an answer goes."""

    HOLDS = "holds"
    FAILS = "fails"
    PRE_CHECK = "pre-check"
    """The text and plan meet the test; the suite's own probe is still to be made."""
    NOT_CHECKED = "not checked"


class Basis(Enum):
    """Source of an answer."""

    PLAN = "the plan"
    TEXT = "rendered text"
    OBSERVED = "text read back from devices"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Answer to one test of a suite."""

    test: SuiteTest
    answer: AnswerKind
    basis: Basis
    claim: str
    cases: Cases
    output: Mapping[str, Any]
    """Input of the suite's check, in addition to ``platform`` and ``success``."""
    problems: tuple[str, ...] = ()
    """Reasons for a failed or unchecked answer."""
    not_checked: tuple[str, ...] = ()
    proofs: tuple[ProofResult, ...] = field(default=())

    @property
    def word(self) -> str:
        """The answer in a word or two."""
        return self.answer.value


def open_proofs(proofs: Sequence[ProofResult]) -> tuple[str, ...]:
    """Sentence for each proof not proven; empty if all are proven."""
    problems = []
    for check, verdict in proofs:
        if not verdict.is_settled:
            first = f": {verdict.counterexamples[0]}" if verdict.counterexamples else ""
            problems.append(f"{check.name}: {verdict.word}{first}")
    return tuple(problems)


def proof_notes(proofs: Sequence[ProofResult]) -> tuple[str, ...]:
    """Parts of the claims not checked by the proofs."""
    notes: list[str] = []
    for check, verdict in proofs:
        notes += [f"{check.name}: {note}" for note in verdict.notes]
    return tuple(notes)


def passed(is_true: bool, error: str) -> dict[str, Any]:
    """A result in the form of the suite's ``tests``."""
    if is_true:
        return {"passed": True}
    return {"passed": False, "error": error}
