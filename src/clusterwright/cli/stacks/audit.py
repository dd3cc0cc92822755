"""``clusterwright audit``: the record of rollouts."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright import chain
from clusterwright.cli.command_group import CommandGroup

if TYPE_CHECKING:
    from clusterwright.report.rollout_history import Rollout

_MOMENT = click.DateTime(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])
_ROOT = click.argument("root", type=click.Path(path_type=Path, file_okay=False))


@click.group(cls=CommandGroup)
def audit() -> None:
    """Show, check and export the record of the rollouts under ROOT."""


@audit.command()
@_ROOT
@click.argument("name", default="")
@click.option("--device", default="", metavar="NAME", help="Changes of this device, their operators, and its answers.")
@click.option("--since", type=_MOMENT, help="Only entries from this time on (UTC).")
@click.option("--at", "moment", type=_MOMENT, help="With --device: the files that it held then (UTC).")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def show(root: Path, name: str, *, device: str, since: datetime | None, moment: datetime | None, form: str) -> int:
    """List the rollouts; with a NAME (or its beginning), everything about that one; with --device, about one device.

    Exit status: 0 shown, 2 could not run.
    """
    from clusterwright.report.rollout_history import rollouts

    if moment is not None and not device:
        raise click.UsageError("--at needs --device.")
    entries = _entries(root)
    if device:
        return _show_device(root, entries, device, since=since, moment=moment, form=form)
    selected = [rollout for rollout in rollouts(entries) if rollout.name.startswith(name)]
    if name and not selected:
        raise click.ClickException(f'no rollout is called "{name}"; `clusterwright audit show {root}` lists them')
    selected = [rollout for rollout in selected if since is None or rollout.started >= _text_of(since)]
    if form == "json":
        shown = [_document(rollout, with_entries=bool(name)) for rollout in selected]
        click.echo(json.dumps({"rollouts": shown}, indent=1, ensure_ascii=False))
        return 0
    for rollout in selected:
        if name:
            _show(rollout)
        else:
            click.echo(_line(rollout))
    return 0


def _show_device(
    root: Path,
    entries: list[dict[str, Any]],
    device: str,
    *,
    since: datetime | None,
    moment: datetime | None,
    form: str,
) -> int:
    from clusterwright.deploy.store import MissingObject, Store
    from clusterwright.rollout.device_history import device_events, files_of_tree

    store = Store(root / "objects")
    events = device_events(entries, store, device)
    if not events:
        raise click.ClickException(f'the record under {root} has no device "{device}"')
    if moment is None:
        shown = [event for event in events if since is None or event.at >= _text_of(since)]
        if form == "json":
            document = {"device": device, "events": [asdict(event) for event in shown]}
            click.echo(json.dumps(document, indent=1, ensure_ascii=False))
            return 0
        for event in shown:
            reason = f": {event.reason}" if event.reason else ""
            result = f"{event.action} {event.result} (clusterwright {event.program})"
            click.echo(f"{event.at}  {event.rollout}  {result}  {event.tree[:12] or '-'}  {event.who}{reason}")
        return 0
    before = [event for event in events if event.at <= _text_of(moment)]
    tree = before[-1].tree if before else ""
    try:
        files = files_of_tree(store, tree) if tree else ()
    except MissingObject as error:
        raise click.ClickException(f"what {device} held is no longer in {root / 'objects'}: {error}") from None
    if form == "json":
        listed = [{"path": path, "sha256": digest} for path, digest in files]
        click.echo(json.dumps({"device": device, "at": _text_of(moment), "tree": tree, "files": listed}, indent=1))
        return 0
    if not tree:
        click.echo(f"{device}: its files at that time are not known, or it had none")
    for path, digest in files:
        click.echo(f"{digest}  {path}")
    return 0


def _text_of(moment: datetime) -> str:
    """A time in the format of the record, in UTC."""
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat(timespec="milliseconds")


def _document(rollout: Rollout, *, with_entries: bool) -> dict[str, Any]:
    """A rollout as JSON: the fields of its line, and on request every entry."""
    names = (
        *("name", "action", "end", "by", "reason", "started", "manifest", "commit", "is_modified"),
        *("waves", "waves_done", "failed"),
    )
    document = {name: getattr(rollout, name) for name in names}
    programs = dict.fromkeys(entry["program"] for entry in rollout.entries if entry.get("program"))
    document |= {"program": ", ".join(programs), "devices": rollout.devices}
    if with_entries:
        document["entries"] = list(rollout.entries)
    return document


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
        recorded_head = chain.Head(int(count), digest) if count.isdigit() else chain.EMPTY
        if chain.head_of(entries[: recorded_head.count]) != recorded_head:
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
    from clusterwright.lists.writing import write_lines
    from clusterwright.report.rollout_history import rollouts

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
        waves = "devices " + ", ".join(f"{count} {result}" for result, count in rollout.devices.items())
    failed = f", {len(rollout.failed)} devices failed" if rollout.failed else ""
    reason = f": {rollout.reason}" if rollout.reason else ""
    return f"{rollout.name}  {rollout.action:<7}  {rollout.end:<8}  {rollout.by}  {waves}{failed}{reason}"


def _show(rollout: Rollout) -> None:
    click.echo(_line(rollout))
    for entry in rollout.entries:
        click.echo(f"{entry['at']}  {entry['event']}")
        for name, value in entry.items():
            if name not in ("at", "event", "rollout", "sequence", "previous", "digest", "preview", "waves"):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                click.echo(f"    {name}: {text}")
        if entry.get("preview", {}).get("text"):
            click.echo(f"    preview as approved (SHA-256 {entry['preview']['sha256']}):")
            for line in entry["preview"]["text"].splitlines():
                click.echo(f"        {line}")
