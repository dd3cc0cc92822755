"""``clusterwright status`` and ``stop``: the command that changes a cluster, and its orderly end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.deploy.lock_holders import LockOwner
    from clusterwright.report.rollout_history import Rollout
    from clusterwright.rollout.ledger import UnderWay

_ROOT = click.argument(
    "root", type=click.Path(path_type=Path, file_okay=False, exists=True), default=Path("up"), required=False
)
_SHOWN = 5


@click.command()
@_ROOT
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def status(root: Path, form: str) -> int:
    """Show the running change of the cluster of ROOT and its progress, an unfinished rollout, lapsed exceptions.

    Exit status: 0 no change is running, 4 one is, or a rollout is unfinished, 2 could not run.
    """
    from clusterwright.deploy.lock_holders import lock_owners
    from clusterwright.rollout import ledger

    owners, under_way, last = lock_owners(root / "locks"), ledger.load(root), _last(root)
    overdue = _overdue(root)
    if form == "json":
        document = _document(owners, under_way, last) | {"lapsed": overdue}
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join([*_lines(owners, under_way, last), *(f"lapsed: {line}" for line in overdue)]))
    return 4 if owners or under_way else 0


@click.command()
@_ROOT
@click.option("--now", is_flag=True, help="Stop as soon as the steps under way are done, not behind the running wave.")
def stop(root: Path, *, now: bool) -> int:
    """Stop the running change of the cluster of ROOT after its current wave, as Ctrl-C does.

    Exit status: 0 signalled, 2 no change is running, or not on this machine.
    """
    from clusterwright.deploy.lock_holders import lock_owners

    owners = {owner.owner.pid: owner for owner in lock_owners(root / "locks")}
    if not owners:
        raise ClusterwrightError(f"no change is running under {root}")
    moment = datetime.now(UTC)
    for pid, owner in owners.items():
        if not owner.is_here:
            description = owner.owner.description(moment)
            raise ClusterwrightError(f"{owner.action} is run by {description}: stop it on that machine")
        try:
            os.kill(pid, signal.SIGTERM)
            if now:
                os.kill(pid, signal.SIGTERM)
        except OSError as error:
            raise ClusterwrightError(f"{owner.owner.description(moment)}: {error.strerror}") from None
        effect = "stops as soon as its steps are done" if now else "finishes the running wave and starts nothing new"
        click.echo(f"{owner.action} of {owner.owner.description(moment)} {effect}")
    return 0


def _last(root: Path) -> Rollout | None:
    from clusterwright import chain
    from clusterwright.report.rollout_history import rollouts
    from clusterwright.rollout.audit import path_of

    recorded = rollouts(chain.read(path_of(root)))
    return recorded[-1] if recorded else None


def _overdue(root: Path) -> list[str]:
    """Lapsed exceptions of the deployed specs."""
    from clusterwright.cli.stacks.allowed import lapsed_lines
    from clusterwright.deploy.store import MissingObject, Store
    from clusterwright.rollout.deployed import kept_spec, specs_in_force
    from clusterwright.spec.load import load_spec

    lines: dict[str, None] = {}
    for digest in specs_in_force(root):
        try:
            with kept_spec(Store(root / "objects"), digest) as path:
                lines.update(dict.fromkeys(lapsed_lines(load_spec(path))))
        except (MissingObject, ClusterwrightError) as error:
            lines[f"unknown: the deployed spec cannot be read ({str(error).splitlines()[0]})"] = None
    return list(lines)


def _lines(owners: tuple[LockOwner, ...], under_way: UnderWay | None, last: Rollout | None) -> Iterator[str]:
    moment = datetime.now(UTC)
    for owner in owners:
        yield f"{owner.name} is being changed ({owner.action}) by {owner.owner.description(moment)}"
    if not owners:
        yield "no change is running"
    if under_way is not None:
        finished = f"{len(under_way.finished)} of {len(under_way.waves)} waves finished"
        waits = "" if owners else "; the same command goes on"
        yield f"rollout {under_way.name}: {finished}{waits}"
    if last is None:
        return
    yield f"last: {last.action} {last.name}, {last.end}, by {last.by}"
    if last.reason:
        yield f"  why: {last.reason}"
    for attempt in last.attempts:
        well = attempt.devices - len(attempt.failed)
        yield f"  wave {attempt.number}, {attempt.layer}: {well} of {attempt.devices} devices are well"
        for device, why in sorted(attempt.failed.items())[:_SHOWN]:
            yield f"    {device}: {why}"


def _document(owners: tuple[LockOwner, ...], under_way: UnderWay | None, last: Rollout | None) -> dict[str, Any]:
    at_work = [
        {
            "lock": owner.name,
            "action": owner.action,
            "user": owner.owner.user,
            "host": owner.owner.host,
            "pid": owner.owner.pid,
            "since": owner.owner.since.isoformat(),
        }
        for owner in owners
    ]
    rollout = under_way and {
        "name": under_way.name,
        "waves": len(under_way.waves),
        "finished": list(under_way.finished),
        "paused": under_way.paused,
    }
    ended = last and {"name": last.name, "action": last.action, "end": last.end, "by": last.by, "reason": last.reason}
    return {"at_work": at_work, "rollout": rollout, "last": ended}
