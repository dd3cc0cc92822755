"""Targets of Prometheus, as it reads them from files (``file_sd_configs``): devices with their places."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.lists.records import Inventory

_LABELS = ("kind", "role", "fabric", "tier", "pod", "rack", "model", "network_os", "state")


def target_lines(inventory: Inventory) -> Iterator[str]:
    """The file, a group of devices with the same labels a line. Targets are host names without a port, which is the
    job's; what has no address to be asked at is left out."""
    domain, reached = inventory.plan.spec.site.domain, inventory.reachable_addresses()
    groups: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for device in inventory.devices():
        if device["name"] in reached:
            labels = tuple((name, str(device[name])) for name in _LABELS if device[name] is not None)
            groups[labels].append(f"{device['name']}.{domain}")
    yield "["
    between = "\n"
    for labels, targets in groups.items():
        all_labels = {"cluster": inventory.plan.name, **dict(labels)}
        yield between + json.dumps({"targets": targets, "labels": all_labels})
        between = ",\n"
    yield "\n]\n"
