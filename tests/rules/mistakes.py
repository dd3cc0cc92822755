"""Mistakes in overlays of the labs: what one is, how fragments of them are written, and that it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.rules.overlays import codes, findings_of


class Mistake(NamedTuple):
    """An overlay of a lab, the code that it gives, where (in words of the spec), and a part of the message."""

    code: str
    base: str
    text: str
    path: str
    message: str


# What a mistake may bring about elsewhere: ports and classes that are lacking, switches without links, missed figures,
# nodes that one failure cuts off, machines that have no flow to what they need where they stand now, keys that the
# system of another model is not told.
CONSEQUENCES = frozenset(
    {
        *("CW201", "CW202", "CW203", "CW207", "CW212", "CW221", "CW245", "CW250", "CW354", "CW430", "CW701"),
        *("CW526", "CW614", "CW622", "CW623", "CW624", "CW625"),
    }
)
ROCE, IB = "lab-roce", "lab-ib"


def tier(fabric: str, text: str) -> str:
    return f"fabrics:\n  - name: {fabric}\n    tiers:\n      - {{{text}}}\n"


def fabric(name: str, text: str) -> str:
    return f"fabrics:\n  - {{name: {name}, {text}}}\n"


def nccl(text: str) -> str:
    return f"nccl: {{{text}}}\n"


def by_hand(line: str) -> str:
    return f"extra_config:\n  - {{role: ctsw, lines: [{line}], reason: by mistake}}\n"


def is_refused(mistake: Mistake, folder: Path) -> None:
    """Asserts that one code and at most its consequences are given, the value that it points at, and what it says."""
    findings = findings_of(folder, mistake.text, mistake.base)
    assert {mistake.code} <= {*codes(findings)} <= {mistake.code, *CONSEQUENCES}, [str(finding) for finding in findings]
    first = next(finding for finding in findings if finding.code == mistake.code)
    assert first.path.startswith(mistake.path), first
    assert mistake.message in first.message, first
    assert first.hint.endswith((".", "?")), first


def named(mistake: Mistake) -> str:
    """What the test of a mistake is called."""
    return f"{mistake.code} {mistake.path} {mistake.message}"
