"""``clusterwright sync``: updates a server's data on a cluster to the spec."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.terminal import progress
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given

if TYPE_CHECKING:
    from clusterwright.extras.source_of_truth.applying import Done
    from clusterwright.extras.source_of_truth.difference import RowChange, ServerDifference, ServerObjects
    from clusterwright.extras.source_of_truth.rows import ServerKind

KINDS = ("netbox", "nautobot")
_EXIT_DIFFERENT = 1
_MOST_SHOWN = 20  # objects of a table


def token_from(kind: str, file: Path | None) -> str:
    """The token in ``file``, or in NETBOX_TOKEN or NAUTOBOT_TOKEN. Raises ClusterwrightError for a missing one."""
    variable = f"{kind.upper()}_TOKEN"
    try:
        token = (read_given(file).decode() if file else os.environ.get(variable, "")).strip()
    except UnicodeDecodeError as error:
        raise ClusterwrightError(f"{file} cannot be read for the token: {error}.") from error
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ClusterwrightError(f"There is no token: set {variable}, or name a file that holds it with --token-file.")
    return token


@click.command()
@click.argument("kind", type=click.Choice(KINDS), metavar="netbox|nautobot")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--url", required=True, help="The server, as https://netbox.example.net.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the token, unless NETBOX_TOKEN or NAUTOBOT_TOKEN is set.",
)
@click.option("--site", help="The site's name on the server. [default: the cluster's name]")
@click.option("--pod", help="Only objects in this pod (or other group); no object is deleted then.")
@click.option("--connections", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests at a time.")
@click.option("--dry-run", is_flag=True, help="Change nothing; exit with 1 where something would change.")
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True, help="Output format."
)
def sync(
    kind: str, *, spec: Path, url: str, token_file: Path | None, site: str | None, pod: str | None, connections: int,
    dry_run: bool, form: str,
) -> int:  # fmt: skip
    """Compares the objects of SPEC on a NetBox or Nautobot server with the plan, and updates them.

    Devices, interfaces, cables, prefixes and addresses created by it carry the tag `clusterwright-CLUSTER`. Objects
    without the tag are neither changed nor deleted.

    Exit status: 0 the server is as planned, 1 would change (--dry-run) or some objects were refused, 2 could not run or
    stopped.
    """
    from clusterwright.cli.planning import sound_plan
    from clusterwright.extras.source_of_truth.client import Client
    from clusterwright.extras.source_of_truth.difference import ServerObjects, difference
    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.systems import SERVER_KINDS
    from clusterwright.lists.records import Inventory

    system, token = SERVER_KINDS[kind], token_from(kind, token_file)
    plan = sound_plan(spec)
    if plan is None:
        return 2
    listing = Listing(Inventory(plan, pod), site)
    with Client(url, token, system.token_kind(token), connections) as client:
        server = ServerObjects(system, client, system.rows(listing), listing.tag)
        changes = difference(server, whole=pod is None)
        return bring(server, changes, f"what {spec} plans", dry_run=dry_run, form=form)


def bring(
    server: ServerObjects, difference: ServerDifference, planned_state: str, *, dry_run: bool, form: str = "text"
) -> int:
    """Show the difference and, without ``dry_run``, apply it."""
    from clusterwright.extras.source_of_truth.applying import Done, apply, failure_lines

    system = server.system
    if form == "text":
        _show(system, difference)
    if dry_run or not difference:
        if form == "json":
            click.echo(sync_text(system, difference, Done()))
        if difference:
            progress(f"{system.title} would change.")
            return _EXIT_DIFFERENT
        progress(f"{system.title} has {planned_state}.")
        return 0
    done = apply(server, difference, lambda table: progress(f"done: {table}"))
    if form == "json":
        click.echo(sync_text(system, difference, done))
    else:
        _count(system, done)
        for line in failure_lines(done.failed, _MOST_SHOWN):
            click.echo(line)
    if done.stopped:
        click.echo(f"Stopped: {done.stopped} What is counted above is done; run it again for the rest.", err=True)
        return 2
    return _EXIT_DIFFERENT if done.failed else 0


def _show(system: ServerKind, changes: ServerDifference) -> None:
    for table in system.tables:
        name = table.name
        rows_by_action: dict[str, list[Any]] = {
            "make": changes.make[name],
            "change": changes.change[name],
            "take away": changes.take[name],
        }
        counts = [f"{len(rows):,} to {action}" for action, rows in rows_by_action.items() if rows]
        if counts:
            click.echo(f"{name}: {', '.join(counts)}")
        lines = [f"  ~ {' '.join(change.row.key)}: {_fields(change)}" for change in changes.change[name]]
        lines += [f"  - {' '.join(key)}" for key, _ in changes.take[name]]
        for change in changes.others[name]:
            lines.append(f"  = {' '.join(change.row.key)} is another's and stays: {_fields(change)}")
        lines += [f"  = {' '.join(key)} stays: {reason}" for key, reason in changes.kept[name]]
        for line in lines[:_MOST_SHOWN]:
            click.echo(line)
        if len(lines) > _MOST_SHOWN:
            click.echo(f"  … {len(lines) - _MOST_SHOWN:,} more")


def sync_text(system: ServerKind, difference: ServerDifference, done: Done) -> str:
    """JSON of the difference and of the result, each object by its key; tables without either are left out."""
    tables = {}
    for table in system.tables:
        name = table.name
        entry: dict[str, Any] = {
            "make": [list(change.row.key) for change in difference.make[name]],
            "change": [_change_record(change) for change in difference.change[name]],
            "take_away": [list(key) for key, _ in difference.take[name]],
            "others_stay": [_change_record(change) for change in difference.others[name]],
            "kept": [{"key": list(key), "reason": reason} for key, reason in difference.kept[name]],
            "done": {"made": done.made[name], "changed": done.changed[name], "taken_away": done.taken[name]},
        }
        if any(entry[list_name] for list_name in entry if list_name != "done"):
            tables[name] = entry
    failed = [{"table": failure.table, "key": list(failure.key), "reason": failure.reason} for failure in done.failed]
    document = {"version": 1, "server": system.title, "tables": tables, "failed": failed, "stopped": done.stopped}
    return json.dumps(document, indent=1, ensure_ascii=False, default=str)


def _change_record(change: RowChange) -> dict[str, Any]:
    fields = [{"name": field.name, "was": field.was, "planned": field.planned} for field in change.fields]
    return {"key": list(change.row.key), "fields": fields}


def _fields(change: RowChange) -> str:
    return ", ".join(f"{field.name} {field.was} → {field.planned}" for field in change.fields)


def _count(system: ServerKind, done: Done) -> None:
    for table in system.tables:
        count_by_action = {
            "made": done.made[table.name],
            "changed": done.changed[table.name],
            "taken away": done.taken[table.name],
        }
        counts = [f"{count:,} {action}" for action, count in count_by_action.items() if count]
        if counts:
            click.echo(f"{table.name}: {', '.join(counts)}")
