"""Typing what only Ethernet fabrics have, from data that the schema accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.ethernet import ExtraConfig, Marking, PfcWatchdog, Vouched
from clusterwright.spec.text.document import Path

# Unpublished for the reference clusters and chosen here: long beside a pause, short beside a job's timeout.
DETECTION_MS = 200
RECOVERY_MS = 1000


def marking(data: Mapping[str, Any] | None) -> Marking | None:
    """The marking thresholds of a class, None where it has none."""
    return None if data is None else Marking(data["min_kbytes"], data["max_kbytes"], data["percent"])


def pfc_watchdog(data: Mapping[str, Any]) -> PfcWatchdog:
    """The PFC watchdog's times of a fabric, with the defaults where the spec is silent."""
    return PfcWatchdog(data.get("detection_ms", DETECTION_MS), data.get("recovery_ms", RECOVERY_MS))


def extra_config(data: Mapping[str, Any], path: Path) -> ExtraConfig:
    """What some switches say beyond what is derived."""
    return ExtraConfig(
        device=data.get("device"),
        role=data.get("role"),
        fabric=data.get("fabric"),
        lines=tuple(data.get("lines", ())),
        merge=data.get("merge", {}),
        file=data.get("file"),
        reason=data["reason"],
        path=path,
        unread=tuple(Vouched(each["line"], each["because"]) for each in data.get("unread", ())),
    )
