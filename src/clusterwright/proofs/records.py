"""Signed records of nodes about their isolation, and of `verify` about its proofs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from clusterwright import chain
from clusterwright.finding import ClusterwrightError
from clusterwright.signatures import is_signed, public_key_in


@dataclass(frozen=True, slots=True)
class Records:
    """Summary of an intact log: number of records, first and last time, node, and last digest.

    ``wrong`` lists the failed checks and differences of each record. ``pause_s`` is the longest time between two
    records, in seconds, and ``paused`` the time of the record before it: a stopped watch leaves no record of its pause.
    """

    count: int
    node: str
    first: str
    last: str
    digest: str
    wrong: tuple[str, ...]
    pause_s: int
    paused: str


def read_records(path: Path, public_key: Path) -> Records:
    """Check every line's place, digest and signature.

    Raises ChainError at the first line that was changed, moved, removed or signed with another key, and
    ClusterwrightError for an unusable file. A missing end shows in the count alone.
    """
    key = public_key_in(public_key)
    if not path.exists():
        raise ClusterwrightError(
            f"{path}: no such file. Name a log that the isolation watch or `verify --continuous` left."
        )
    entries = chain.read(path)
    if not entries:
        raise chain.ChainError(f"{path}: holds no record, where every look leaves one")
    wrong: list[str] = []
    for number, entry in enumerate(entries, 1):
        _check_signature(path, number, entry, key)
        try:
            if entry["node"] != entries[0]["node"]:
                raise chain.ChainError(f"{path}:{number}: is of {entry['node']}, the log of {entries[0]['node']}")
            if not entry["ok"]:
                reasons = [f"{check['name']}: {check['reason']}" for check in entry["checks"] if not check["ok"]]
                wrong += [f"{entry['time']} record {number}: {text}" for text in (*reasons, *entry["differences"])]
        except (KeyError, TypeError):
            raise chain.ChainError(f"{path}:{number}: this is no record of proofs or of the isolation watch") from None
    head = chain.head_of(entries)
    times = [entry["time"] for entry in entries]
    try:
        pause, paused = _pause(times)
    except (TypeError, ValueError):
        raise chain.ChainError(f"{path}: a record has no date that reads") from None
    return Records(
        count=head.count,
        node=entries[0]["node"],
        first=times[0],
        last=times[-1],
        digest=head.digest,
        wrong=tuple(wrong),
        pause_s=pause,
        paused=paused,
    )


def _pause(times: list[str]) -> tuple[int, str]:
    """Longest time between two records in seconds, with the time of the record before it."""
    read = [datetime.fromisoformat(time) for time in times]
    pauses = []
    for index, (earlier, later) in enumerate(pairwise(read)):
        pauses.append((int((later - earlier).total_seconds()), index))
    pause, index = max(pauses, key=lambda pause: pause[0], default=(0, 0))
    return pause, times[index]


def _check_signature(path: Path, number: int, entry: dict[str, Any], key: Ed25519PublicKey) -> None:
    body = {name: value for name, value in entry.items() if name not in {"digest", "signature"}}
    if not is_signed(key, json.dumps(body, sort_keys=True).encode(), entry.get("signature")):
        raise chain.ChainError(f"{path}:{number}: was not signed with this node's key")
