"""Signed records of ``clusterwright verify``: append one, and check a log."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.chain import ChainError
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.proofs.check import ProofCheck, Verdict

_EXIT_REFUTED = 1
_MOST_EXAMPLES = 40


def leave_record(path: Path, key: Path, cluster: str, verdicts: Sequence[tuple[ProofCheck, Verdict]]) -> None:
    """Append the verdicts to a log, signed. Raises ClusterwrightError for an unwritable log."""
    from clusterwright.node_watch.record import RecordError, append

    examples: list[str] = []
    for _, verdict in verdicts:
        examples += map(str, verdict.counterexamples)
    entry = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "node": cluster,
        "ok": all(verdict.is_settled for _, verdict in verdicts),
        "checks": [
            {
                "name": check.name,
                "expected": "proven",
                "observed": verdict.word,
                "reason": "" if verdict.is_settled else verdict.word,
                "ok": verdict.is_settled,
            }
            for check, verdict in verdicts
        ],
        "differences": examples[:_MOST_EXAMPLES],
    }
    try:
        line = append(str(path), str(key), entry)
    except (OSError, RecordError) as error:
        raise ClusterwrightError(f"no record was left: {error}") from None
    click.echo(f"record {line['sequence']} of {path}, digest {line['digest']}", err=True)


def show_records(path: Path, public_key: Path, form: str) -> int:
    """Print the verdict of a node's log. A wrong signature refutes a log, as does a record of an open node."""
    from clusterwright.proofs.records import read_records

    try:
        records = read_records(path, public_key)
    except ChainError as error:
        if form == "json":
            click.echo(json.dumps({"whole": False, "reason": str(error)}, indent=2))
        else:
            click.echo(f"REFUTED. {error}")
        return _EXIT_REFUTED
    if form == "json":
        click.echo(json.dumps({"whole": True, **asdict(records)}, indent=2))
    else:
        interval = f"from {records.first} to {records.last}"
        click.echo(f"{records.node}: {records.count:,} records {interval}, each signed and in place")
        click.echo(f"  last digest: {records.digest}")
        click.echo(f"  longest time without a record: {timedelta(seconds=records.pause_s)}, after {records.paused}")
        for text in records.wrong:
            click.echo(f"  {text}")
    return _EXIT_REFUTED if records.wrong else 0
