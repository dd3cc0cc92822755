"""Verdict on a node: its checks, and whether the node is fit to run a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# slurmdbd keeps reasons in a tinytext column (255 bytes), and squeue and sinfo show the first words.
REASON_BYTES = 200
PREFIX = "node-health: "


class Check(NamedTuple):
    """Result of one check."""

    name: str
    observed: str
    expected: str
    reason: str
    """Why the check failed; "" for a passed check."""

    @property
    def ok(self) -> bool:
        """Whether the check passed."""
        return not self.reason

    def to_json(self) -> dict[str, Any]:
        """Fields of the check in a verdict or a record."""
        return {**self._asdict(), "ok": self.ok}


Expected = Mapping[str, Any]
"""Expected state of a node: the merged content of health.json and health-node.json."""


def check(name: str, observed: object, expected: object, reasons: Iterable[str] = (), error: str = "") -> Check:
    """A check, failed for any of ``reasons``; an ``error`` of the command behind it replaces them."""
    reason = error or "; ".join(reasons)
    return Check(name=name, observed=str(observed), expected=str(expected), reason=reason)


def verdict_of(node: str, checks: Iterable[Check]) -> dict[str, Any]:
    """Verdict as written in JSON, with a ``reason`` short enough for Slurm."""
    results = list(checks)
    failed = [result for result in results if not result.ok]
    return {
        "ok": not failed,
        "node": node,
        "reason": reason_of(failed),
        "checks": [result.to_json() for result in results],
    }


def reason_of(failed: Iterable[Check]) -> str:
    """Slurm's drain reason for the failed checks: at most REASON_BYTES bytes of ASCII; "" without a failed check."""
    failures = list(failed)
    if not failures:
        return ""
    causes = ", ".join(f"{failure.name} ({failure.reason})" for failure in failures)
    reason = _printable_ascii(PREFIX + causes)
    if len(reason) <= REASON_BYTES:
        return reason
    ending = f" ... {len(failures)} checks failed"
    return reason[: REASON_BYTES - len(ending)] + ending


def _printable_ascii(text: str) -> str:
    """Text with blanks for quotes, line ends and non-ASCII characters: a quote would end scontrol's argument."""
    characters = []
    for character in text:
        is_safe = " " <= character <= "~" and character not in "\"'\\"
        characters.append(character if is_safe else " ")
    return "".join(characters)
