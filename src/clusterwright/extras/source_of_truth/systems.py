"""The supported kinds of servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.extras.source_of_truth.files import row_lines
from clusterwright.extras.source_of_truth.listing import Listing
from clusterwright.extras.source_of_truth.nautobot import NAUTOBOT
from clusterwright.extras.source_of_truth.netbox import NETBOX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.extras.source_of_truth.rows import ServerKind
    from clusterwright.lists.records import Inventory

SERVER_KINDS = {kind.name: kind for kind in (NETBOX, NAUTOBOT)}


def imported_files(kind: ServerKind, inventory: Inventory, site: str | None = None) -> Mapping[str, Iterable[str]]:
    """The import files of a server of this kind, by name; ``site`` is the cluster's name where it is None."""
    return kind.files(Listing(inventory, site))


def loaded_files(kind: ServerKind, inventory: Inventory, site: str | None = None) -> Mapping[str, Iterable[str]]:
    """The program to fill a server of this kind from within, and its rows."""
    program = Path(__file__).parent / "inside" / "load.py"
    rows = _row_lines(kind, Listing(inventory, site))
    return {"load.py": [program.read_text(encoding="utf-8")], "rows.jsonl": rows}


def _row_lines(kind: ServerKind, listing: Listing) -> Iterator[str]:
    tables = [
        {
            "name": table.name, "endpoint": table.endpoint, "key": [field for field, _ in table.key],
            "shared": table.shared, "amends": table.amends,
        }
        for table in kind.tables
    ]  # fmt: skip
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    yield f"{encode(tables)}\n"
    yield from row_lines(kind.pattern_rows(listing), lambda pattern: f"{encode(pattern.row)}\n")
