"""What only Ethernet fabrics have: marking thresholds, the PFC watchdog, and the lines a network engineer adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class Marking:
    """Queue lengths in kilobytes between which packets are marked, and the probability in percent at the upper one."""

    min_kbytes: int
    max_kbytes: int
    percent: int


@dataclass(frozen=True, slots=True)
class PfcWatchdog:
    """When a paused queue counts as stuck, and how long its pauses are then ignored; both in milliseconds."""

    detection_ms: int
    recovery_ms: int


@dataclass(frozen=True, slots=True)
class ExtraConfig:
    """What one ``device``, or all switches of a ``role`` or ``fabric``, say beyond what is derived.

    ``lines`` go into EOS text, ``merge`` is a JSON merge patch (RFC 7396) on the rendered ``file``.
    """

    device: str | None
    role: str | None
    fabric: str | None
    lines: tuple[str, ...]
    merge: Mapping[str, Any]
    file: str | None
    reason: str
    path: Path
