"""``clusterwright audit``: the record that rollouts left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright import chain
from clusterwright.cli.command_group import CommandGroup

if TYPE_CHECKING:
    from clusterwright.report.rollout_history import Rollout

_ROOT = click.argument("root", type=click.Path(path_type=Path, file_okay=False))


@click.group(cls=CommandGroup)
def audit() -> None:
    """Show, check and export the record of the rollouts under ROOT."""


@audit.command()
@_ROOT
@click.argument("name", default="")
def show(root: Path, name: str) -> int:
    """List the rollouts; with a NAME (or its beginning), everything about that one.

    Exit status: 0 shown, 2 could not run.
    """
    from clusterwright.report.rollout_history import rollouts

    found = rollouts(_entries(root))
    if not name:
        for rollout in found:
            click.echo(_line(rollout))
        return 0
    chosen = [rollout for rollout in found if rollout.name.startswith(name)]
    if not chosen:
        raise click.ClickException(f'no rollout is called "{name}"; `clusterwright audit show {root}` lists them')
    for rollout in chosen:
        _show(rollout)
    return 0


@audit.command()
@_ROOT
@click.option("--head", help="COUNT:DIGEST as printed before and kept elsewhere; the log must still contain it.")
def verify(root: Path, head: str | None) -> int:
    """Check that no line was changed, moved or taken out, and print the log's head, to be kept elsewhere.

    Exit status: 0 unbroken, 2 broken, or could not run.
    """
    from clusterwright.rollout.audit import path_of

    entries = _entries(root)
    if head:
        count, _, digest = head.partition(":")
        known = chain.Head(int(count), digest) if count.isdigit() else chain.EMPTY
        if chain.head_of(entries[: known.count]) != known:
            raise click.ClickException(f"{path_of(root)} no longer contains {head}: it was cut off or rewritten")
    end = chain.head_of(entries)
    click.echo(f"{path_of(root)}: {end.count} lines, unbroken\n{end.count}:{end.digest}")
    return 0


@audit.command()
@_ROOT
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Default: standard output.")
def export(root: Path, out: Path | None) -> int:
    """Write every rollout as one JSON document.

    Exit status: 0 written, 2 could not run.
    """
    from clusterwright.report.rollout_history import rollouts
    from clusterwright.report.writing import write_lines

    entries = _entries(root)
    end = chain.head_of(entries)
    document = {
        "head": {"count": end.count, "digest": end.digest},
        "rollouts": [{"rollout": rollout.name, "entries": list(rollout.entries)} for rollout in rollouts(entries)],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return 0
    write_lines(out, [text])
    return 0


def _entries(root: Path) -> list[dict[str, Any]]:
    from clusterwright.rollout.audit import path_of

    path = path_of(root)
    if not path.exists():
        raise click.ClickException(f"{path}: there is no record; nothing was deployed under {root}")
    return chain.read(path)


def _line(rollout: Rollout) -> str:
    waves = f"{rollout.waves_done} of {rollout.waves} waves" if rollout.waves else "no waves"
    if rollout.devices:
        waves = "devices " + ", ".join(f"{count} {what}" for what, count in rollout.devices.items())
    failed = f", {len(rollout.failed)} devices failed" if rollout.failed else ""
    reason = f": {rollout.reason}" if rollout.reason else ""
    return f"{rollout.name}  {rollout.action:<7}  {rollout.end:<8}  {rollout.by}  {waves}{failed}{reason}"


def _show(rollout: Rollout) -> None:
    click.echo(_line(rollout))
    for entry in rollout.entries:
        click.echo(f"{entry['at']}  {entry['event']}")
        for name, value in entry.items():
            if name not in ("at", "event", "rollout", "sequence", "previous", "digest", "preview", "waves"):
                click.echo(f"    {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
        if entry.get("preview", {}).get("text"):
            click.echo(f"    preview as approved (SHA-256 {entry['preview']['sha256']}):")
            for line in entry["preview"]["text"].splitlines():
                click.echo(f"        {line}")
