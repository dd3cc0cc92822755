"""Settings of Ethernet fabrics only: marking thresholds, the PFC watchdog, and added configuration.

BGP sessions are authenticated by TCP-MD5 (RFC 2385) or TCP-AO (RFC 5925), with a secret by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.spec.text.document import Path

MD5, AO = "md5", "tcp-ao"
_LAST_ASN = (1 << 32) - 2
_RESERVED_ASNS = {
    0: "it is reserved (RFC 7607)",
    23456: "it stands for numbers of four bytes before routers of two (RFC 6793)",
    65535: "it is reserved (RFC 7300)",
    _LAST_ASN + 1: "it is reserved (RFC 7300)",
}


def asn_fault(asn: int) -> str:
    """The reason against an AS number of a router; "" without one."""
    if asn in _RESERVED_ASNS:
        return _RESERVED_ASNS[asn]
    return "" if 0 < asn <= _LAST_ASN else f"the last number is {_LAST_ASN} (RFC 6793, RFC 7300)"


@dataclass(frozen=True, slots=True)
class SessionAuthentication:
    """Authentication of BGP sessions: ``method`` is MD5 or AO, ``secret`` names the password of both ends.

    ``algorithm`` and ``key_id`` (0 to 255, the same at both ends) belong to TCP-AO. RFC 5926 makes both of its
    algorithms mandatory; the default is the first of EOS.
    """

    method: str
    secret: str
    algorithm: str
    key_id: int
    path: Path


BETWEEN = " / "  # the parts of a place in a file


@dataclass(frozen=True, slots=True)
class Marking:
    """Queue lengths in kilobytes for the start and end of marking, and the probability in percent at the upper one."""

    min_kbytes: int
    max_kbytes: int
    percent: int


@dataclass(frozen=True, slots=True)
class PfcWatchdog:
    """Detection time of a stuck paused queue, and time of ignoring its pauses afterwards; both in milliseconds.

    The reference clusters publish no values; the defaults were chosen: long beside a pause, short beside a job's
    timeout.
    """

    detection_ms: int
    recovery_ms: int


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """An added ``line``, or the keys of a patch joined by `` / ``, that proofs may ignore, with the reason."""

    line: str
    because: str


@dataclass(frozen=True, slots=True)
class ExtraConfig:
    """Configuration added to one ``device``, or to all switches of a ``role`` or ``fabric``."""

    device: str | None
    role: str | None
    fabric: str | None
    lines: tuple[str, ...]
    """For EOS text."""
    merge: Mapping[str, Any]
    """A JSON merge patch (RFC 7396) on the rendered ``file``."""
    file: str | None
    reason: str
    path: Path
    unread: tuple[UnreadLine, ...]
    """Lines and keys that proofs may ignore: the spec's author states that they affect nothing proven."""

    def concerns(self, device: str, role: str, fabric: str) -> bool:
        """True for a switch with this added configuration."""
        return device == self.device or role == self.role or fabric == self.fabric

    def places(self, line: str) -> tuple[str, ...]:
        """Places of an accepted unread line within the addition: its section's first line and itself, or JSON's keys.

        Joined as proofs name unread lines; empty if the line is not part of the addition.
        """
        places = []
        header = ""
        for config_line in self.lines:
            if not config_line.startswith(" "):
                header = config_line
            if config_line.strip() != line.strip():
                continue
            if config_line == header:
                places.append(config_line)
            else:
                places.append(f"{header}{BETWEEN}{config_line.strip()}")
        keys = [place for place in _keys(self.merge, "") if place == line.strip()]
        return (*places, *keys)


def _keys(patch: Mapping[str, Any], above: str) -> Iterator[str]:
    """The path of every key of a patch."""
    for key, value in patch.items():
        place = f"{above}{key}"
        yield place
        if isinstance(value, Mapping):
            yield from _keys(value, f"{place}{BETWEEN}")
