"""Settings of Ethernet fabrics alone: marking thresholds, the PFC watchdog, and added configuration.

A BGP session proves who speaks by TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925), with a secret by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.spec.text.document import Path

MD5, AO = "md5", "tcp-ao"


@dataclass(frozen=True, slots=True)
class SessionAuthentication:
    """``method`` is MD5 or AO, ``secret`` names the password that both ends share.

    ``algorithm`` and ``key_id`` (0 to 255, the same at both ends) belong to TCP-AO. RFC 5926 makes both of its
    algorithms mandatory; the one without a word is the first that EOS offers.
    """

    method: str
    secret: str
    algorithm: str
    key_id: int
    path: Path


BETWEEN = " / "  # the parts of a place in a file


@dataclass(frozen=True, slots=True)
class Marking:
    """Queue lengths in kilobytes between which packets are marked, and the probability in percent at the upper one."""

    min_kbytes: int
    max_kbytes: int
    percent: int


@dataclass(frozen=True, slots=True)
class PfcWatchdog:
    """When a paused queue counts as stuck, and how long its pauses are then ignored; both in milliseconds.

    What holds without a word is unpublished for the reference clusters and chosen: long beside a pause, short beside a
    job's timeout.
    """

    detection_ms: int
    recovery_ms: int


@dataclass(frozen=True, slots=True)
class Vouched:
    """An added ``line``, or the keys of a patch joined by `` / ``, that no reader need know, and why."""

    line: str
    because: str


@dataclass(frozen=True, slots=True)
class ExtraConfig:
    """Configuration added to one ``device``, or to all switches of a ``role`` or ``fabric``.

    ``lines`` go into EOS text, ``merge`` is a JSON merge patch (RFC 7396) on the rendered ``file``. ``unread`` are
    those of them that no reader need know: somebody vouches that they touch nothing that is proven.
    """

    device: str | None
    role: str | None
    fabric: str | None
    lines: tuple[str, ...]
    merge: Mapping[str, Any]
    file: str | None
    reason: str
    path: Path
    unread: tuple[Vouched, ...]

    def concerns(self, device: str, role: str, fabric: str) -> bool:
        """True for a switch that gets the added configuration."""
        return device == self.device or role == self.role or fabric == self.fabric

    def places(self, line: str) -> tuple[str, ...]:
        """Where a vouched line stands among what is added: the line that opens its section and itself, or JSON's keys.

        Joined as proofs name what they did not read; empty where it does not stand there.
        """
        places = []
        header = ""
        for config_line in self.lines:
            header = header if config_line.startswith(" ") else config_line
            if config_line.strip() == line.strip():
                places.append(config_line if header == config_line else f"{header}{BETWEEN}{config_line.strip()}")
        return (*places, *(place for place in _keys(self.merge, "") if place == line.strip()))


def _keys(patch: Mapping[str, Any], above: str) -> Iterator[str]:
    """The path of every key of a patch."""
    for key, value in patch.items():
        place = f"{above}{key}"
        yield place
        if isinstance(value, Mapping):
            yield from _keys(value, f"{place}{BETWEEN}")
