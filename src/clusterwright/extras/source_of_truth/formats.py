"""Formats of ``clusterwright inventory`` for sources of truth, each a function named by an entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.extras.source_of_truth.nautobot import NAUTOBOT
from clusterwright.extras.source_of_truth.netbox import NETBOX
from clusterwright.extras.source_of_truth.systems import imported_files, loaded_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.lists.records import Inventory


def netbox_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """Files in the order of NetBox's import."""
    return imported_files(NETBOX, inventory, inventory.site)


def netbox_load_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """A program to fill an empty NetBox from within, and its rows."""
    return loaded_files(NETBOX, inventory, inventory.site)


def nautobot_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """Files in the order of Nautobot's import."""
    return imported_files(NAUTOBOT, inventory, inventory.site)


def nautobot_load_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """A program to fill an empty Nautobot from within, and its rows."""
    return loaded_files(NAUTOBOT, inventory, inventory.site)
