"""The verdict on a node: what was looked at, what was found, and whether a job may start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

# slurmdbd keeps reasons in a tinytext column (255 bytes), and squeue and sinfo show the first words.
REASON_BYTES = 200
PREFIX = "node-health: "


class Check(NamedTuple):
    """One thing that was looked at; ``reason`` says what is wrong, "" where nothing is."""

    name: str
    observed: str
    expected: str
    reason: str

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.reason


Expected = Mapping[str, Any]
"""What the plan says of a node: the files health.json and health-node.json, read and merged."""


def check(name: str, observed: object, expected: object, wrong: Iterable[str] = ()) -> Check:
    """A check with the reasons in ``wrong`` joined; without any it is passed."""
    return Check(name=name, observed=str(observed), expected=str(expected), reason="; ".join(wrong))


def verdict_of(node: str, checks: Iterable[Check]) -> dict[str, Any]:
    """The verdict as it is written in JSON; ``reason`` is short enough for Slurm."""
    found = list(checks)
    failed = [each for each in found if not each.ok]
    return {
        "ok": not failed,
        "node": node,
        "reason": reason_of(failed),
        "checks": [{**each._asdict(), "ok": each.ok} for each in found],
    }


def reason_of(failed: Iterable[Check]) -> str:
    """Why a node is drained, in at most REASON_BYTES bytes of plain ASCII; "" for no reason."""
    failures = list(failed)
    if not failures:
        return ""
    text = PREFIX + ", ".join(f"{each.name} ({each.reason})" for each in failures)
    # Quotes and line ends would end the argument that scontrol reads.
    plain = "".join(char if " " <= char <= "~" and char not in "\"'\\" else " " for char in text)
    if len(plain) <= REASON_BYTES:
        return plain
    more = f" ... {len(failures)} checks failed"
    return plain[: REASON_BYTES - len(more)] + more
