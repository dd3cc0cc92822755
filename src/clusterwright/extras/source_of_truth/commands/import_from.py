"""``clusterwright import``: copies a server's data on planned devices into the files beside the spec."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from clusterwright import durable
from clusterwright.extras.source_of_truth.commands.sync import KINDS, token_from

_EXIT_DIFFERENT = 1


@click.command("import")
@click.argument("kind", type=click.Choice(KINDS), metavar="netbox|nautobot")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--url", required=True, help="The server, as https://netbox.example.net.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the token, unless NETBOX_TOKEN or NAUTOBOT_TOKEN is set.",
)
@click.option("--site", help="The site's name on the server. [default: the cluster's name]")
@click.option("--connections", type=click.IntRange(1, 64), default=4, show_default=True, help="Requests at a time.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a file would change.")
def import_from(
    kind: str, *, spec: Path, url: str, token_file: Path | None, site: str | None, connections: int, check: bool
) -> int:
    """Imports the data of a NetBox or Nautobot server on the devices of SPEC into the files beside it.

    Rack units, addresses of ports and loopbacks go into the allocation file, so that they stay; serial numbers, asset
    tags, MAC addresses, GUIDs and cable labels into the overlay file. Nothing is changed on the server.

    Exit status: 0 written or up to date, 1 would change (--check), 2 could not run.
    """
    from clusterwright.extras.source_of_truth.client import Client
    from clusterwright.extras.source_of_truth.difference import ServerObjects
    from clusterwright.extras.source_of_truth.imported import (
        FURTHER,
        left_aside,
        merged_labels,
        moved,
        pinned,
        server_facts,
    )
    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.systems import SERVER_KINDS
    from clusterwright.lists.records import Inventory
    from clusterwright.plan.allocation.writing import allocation_text
    from clusterwright.plan.build import build_plan
    from clusterwright.rules.engine import load_sound
    from clusterwright.spec.labels.overlay import overlay_text
    from clusterwright.spec.load import allocation_file, overlay_file

    system, token = SERVER_KINDS[kind], token_from(kind, token_file)
    plan = build_plan(load_sound(spec))
    listing = Listing(Inventory(plan), site)
    with Client(url, token, system.token_kind(token), connections) as client:
        server = ServerObjects(system, client, system.rows(listing), listing.tag, FURTHER)
        facts = server_facts(server)
    for line in left_aside(plan, server, facts):
        click.echo(line)
    after, stands = pinned(plan, facts, datetime.now(UTC).date())
    labels = merged_labels(plan.spec.overlay.rows, facts.labels)
    files = {allocation_file(spec): allocation_text(after.spec, stands)}
    if labels:
        files[overlay_file(spec)] = overlay_text(labels)
    for line in moved(plan, after):
        click.echo(line)
    would_change = False
    for file, text in files.items():
        if file.is_file() and file.read_text("utf-8") == text:
            click.echo(f"{file} is up to date", err=True)
        elif check:
            would_change = True
            click.echo(f"{file} would change", err=True)
        else:
            durable.replace(file, text.encode(), 0o666)  # committed with the spec: readable like the spec
            click.echo(f"{file} is written", err=True)
    return _EXIT_DIFFERENT if would_change else 0
