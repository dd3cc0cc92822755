"""Typing zones and flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.document import Path
from clusterwright.spec.isolation import Flow, Zone
from clusterwright.spec.reading import Reading


def zone(reading: Reading, data: Mapping[str, Any], path: Path) -> Zone:
    """One zone at ``path``."""
    return Zone(
        name=data["name"],
        nodes=tuple(data.get("nodes", ())),
        fabrics=tuple(data.get("fabrics", ())),
        prefixes=reading.networks(data, "prefixes", path),
        path=path,
    )


def flow(reading: Reading, data: Mapping[str, Any], path: Path) -> Flow:
    """One flow at ``path``."""
    return Flow(
        name=data["name"],
        source=data["from"],
        target=data["to"],
        protocol=data["protocol"],
        ports=reading.ranges(data.get("ports", ()), (*path, "ports"), 65535),
        reason=data["reason"],
        path=path,
    )
