"""The chapter on proofs: proven, refuted and open claims about this plan's rendered files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from clusterwright.report.page import Block, Card, Cell, PageTable, Section, code, number

_NOT_ASKED = (
    "Nothing was proven for this page. `clusterwright report SPEC --prove --out DIR` renders every file and proves "
    "what follows from it; `clusterwright verify SPEC` answers with counterexamples in full."
)
_SHOWN = 3  # counterexamples and notes of a claim; verify has all of them


@dataclass(frozen=True, slots=True)
class ProvenClaim:
    """A claim with its answer, in verify's words: ``proven``, ``refuted``, or why it is neither.

    ``open`` lists counterexamples, and reasons for an undecided claim.
    """

    name: str
    claim: str
    answer: str
    cases: int
    cases_are: str
    open: tuple[str, ...]

    @property
    def style(self) -> str:
        """The style of the answer's cell."""
        return {"proven": "good", "REFUTED": "bad"}.get(self.answer, "warning")


def proofs_section(claims: tuple[ProvenClaim, ...] | None) -> Section:
    """Claim by claim; ``claims`` is None for a report without proofs."""
    if claims is None:
        return Section("proofs", "Proofs", (Block("", _NOT_ASKED),))
    counts = Counter(claim.answer for claim in claims)
    counts["neither"] = len(claims) - counts["proven"] - counts["REFUTED"]
    table = PageTable(
        name="proof-list",
        caption="Claims about the rendered files",
        columns=("Check", "Claim", "Answer", "Tried on", "Open"),
        rows=tuple(_claim_row(claim) for claim in claims),
        note="What a proof reads and what it does not cover: `clusterwright explain verify`.",
    )
    text = ", ".join(f"{counts[word]:,} {word}" for word in ("proven", "REFUTED", "neither") if counts[word])
    return Section("proofs", "Proofs", (Block(heading="", text=f"{text}.", drawings=(), tables=(table,)),))


def _claim_row(claim: ProvenClaim) -> tuple[Cell, ...]:
    return (
        code(claim.name),
        Cell(claim.claim, "prose"),
        Cell(claim.answer, claim.style),
        Cell(f"{claim.cases:,} {claim.cases_are}"),
        Cell(_open(claim)),
    )


def proofs_card(claims: tuple[ProvenClaim, ...] | None) -> Card:
    """The number of proven claims."""
    if claims is None:
        return Card("Proofs", "not asked", "report --prove asks")
    refuted = sum(claim.answer == "REFUTED" for claim in claims)
    proven = number(sum(claim.answer == "proven" for claim in claims)).text
    return Card("Proofs", f"{proven} of {len(claims):,}", f"{refuted:,} refuted" if refuted else "none refuted")


def _open(claim: ProvenClaim) -> str:
    more = len(claim.open) - _SHOWN
    sentences = [*claim.open[:_SHOWN]]
    if more > 0:
        sentences.append(f"And {more:,} more.")
    return " ".join(sentences) or "–"
