"""Targets of Prometheus for ``file_sd_configs``: devices with their places."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.lists.records import Inventory

_LABELS = ("kind", "role", "fabric", "tier", "pod", "rack", "model", "network_os", "state")


def target_lines(inventory: Inventory) -> Iterator[str]:
    """The file, one line for each group of devices with the same labels.

    Targets are host names without a port, which the scrape job adds; devices without an address are left out."""
    domain, login_addresses = inventory.plan.spec.site.domain, inventory.reachable_addresses()
    groups: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for device in inventory.devices():
        if device["name"] in login_addresses:
            labels = tuple((name, str(device[name])) for name in _LABELS if device[name] is not None)
            groups[labels].append(f"{device['name']}.{domain}")
    yield "["
    between = "\n"
    for labels, targets in groups.items():
        all_labels = {"cluster": inventory.plan.name, **dict(labels)}
        yield between + json.dumps({"targets": targets, "labels": all_labels})
        between = ",\n"
    yield "\n]\n"
