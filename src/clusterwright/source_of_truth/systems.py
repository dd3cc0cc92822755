"""The kinds of servers that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.source_of_truth.listing import Listing
from clusterwright.source_of_truth.nautobot import NAUTOBOT
from clusterwright.source_of_truth.netbox import NETBOX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.report.records import Inventory
    from clusterwright.source_of_truth.rows import ServerKind

SERVER_KINDS = {kind.name: kind for kind in (NETBOX, NAUTOBOT)}


def imported_files(kind: ServerKind, inventory: Inventory, site: str | None = None) -> Mapping[str, Iterable[str]]:
    """The files that a server of this kind imports, by name; ``site`` is the cluster's name where it is None."""
    return kind.files(kind.rows(Listing(inventory, site)))
