"""The server of ``clusterwright observe --server``, updated with observed cables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.and_more import and_more
from clusterwright.extras.source_of_truth.commands.sync import bring, token_from

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan

_CONNECTIONS = 4
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CableServer:
    """A server of ``kind`` netbox or nautobot. Nothing is changed on it unless ``is_written``."""

    kind: str
    url: str
    token_file: Path | None
    site: str | None
    is_written: bool

    def bring(self, plan: Plan, states: Mapping[tuple[str, str], str]) -> int:
        """Show the statuses different from ``states``, and with ``is_written`` write them; the exit status."""
        from clusterwright.extras.source_of_truth.cable_status import cable_statuses
        from clusterwright.extras.source_of_truth.client import Client
        from clusterwright.extras.source_of_truth.listing import Listing
        from clusterwright.extras.source_of_truth.systems import SERVER_KINDS
        from clusterwright.lists.records import Inventory

        system, token = SERVER_KINDS[self.kind], token_from(self.kind, self.token_file)
        listing = Listing(Inventory(plan), self.site)
        with Client(self.url, token, system.token_kind(token), _CONNECTIONS) as client:
            statuses = cable_statuses(system, client, listing, states)
            if statuses.unknown:
                click.echo(f"note: nothing is known of {statuses.unknown:,} cables: they keep their status", err=True)
            if statuses.absent:
                names = and_more([" ".join(key) for key in statuses.absent], _MOST_SHOWN)
                count = f"{len(statuses.absent):,} cables are not in {system.title}, and `sync` makes them"
                click.echo(f"note: {count}: {names}", err=True)
            return bring(statuses.server, statuses.changes, "the status of each cable", dry_run=not self.is_written)
