"""The end of an update, for people and as an exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clusterwright.cli.stacks.options import EXIT_INTERRUPTED, EXIT_PAUSED, EXIT_STOPPED, ChosenStacks, tell_ran

if TYPE_CHECKING:
    from clusterwright.deploy.pulumi.events import Listener
    from clusterwright.rollout.execution import Result
    from clusterwright.rollout.kept_rollouts import KeptRollout
    from clusterwright.rollout.ledger import UnderWay


def tell_brought_back(site: ChosenStacks, rollout: KeptRollout) -> None:
    """Warn about the rolled-back change, still present in the spec's files."""
    commit = f", commit {rollout.revision.commit[:12]}" if rollout.revision.commit else ""
    if rollout.revision.is_modified:
        commit += ", with changes that are in no commit"
    click.echo(
        f"this was the spec of {rollout.name}{commit}. {site.deployment.spec} was not edited: put it back as it was "
        "then, or the next up brings its changes again.",
        err=True,
    )


def tell_end(listen: Listener, rollout: UnderWay, result: Result) -> None:
    """Send listeners the end of the rollout."""
    from clusterwright.deploy.pulumi.events import Event, EventKind
    from clusterwright.rollout.execution import UpdateEnd

    kind = EventKind.ROLLOUT_FINISHED if result.end is UpdateEnd.DONE else EventKind.ROLLOUT_STOPPED
    text = f"{result.end.value}: {result.text}" if result.text else ""
    listen(Event(kind, text=text, details={"rollout": rollout.name, "waves": len(rollout.waves)}))


def tell_result(site: ChosenStacks, result: Result, settled: frozenset[str]) -> int:
    """Print the result and the remaining steps on standard error; the exit status."""
    from clusterwright.rollout.execution import UpdateEnd

    if result.end is UpdateEnd.DONE:
        changed = sum(len(outcome.wave.devices) - len(outcome.failed) for outcome in result.waves)
        if changed:
            click.echo(f"{len(result.waves)} waves: {changed} devices changed", err=True)
            return 0
        return _tell_whole(site, result, settled)
    click.echo(f"up {result.end.value}: {result.text}. The same command goes on from here.", err=True)
    status = {
        UpdateEnd.DONE: 0,
        UpdateEnd.PAUSED: EXIT_PAUSED,
        UpdateEnd.STOPPED: EXIT_STOPPED,
        UpdateEnd.ABORTED: EXIT_INTERRUPTED,
    }
    return status[result.end]


def _tell_whole(site: ChosenStacks, result: Result, settled: frozenset[str]) -> int:
    """Print the end of stacks updated as a whole, and the names of unchanged ones."""
    if len(settled) == len(site.stacks):
        click.echo("nothing changed; every stack is up to date", err=True)
        return 0
    if settled:
        click.echo(f"left alone, as they hold what they are to have: {', '.join(sorted(settled))}", err=True)
    return tell_ran("up", tuple(stack for stack in site.stacks if stack.name not in settled), result.stacks)
