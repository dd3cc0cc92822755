"""Releases of switch systems: those with known configuration words, and words of newer releases only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from clusterwright.spec.structuring import Key


@dataclass(frozen=True, slots=True)
class ReleaseWord:
    """A word written for every release and supported only by newer ones."""

    spelling: Annotated[str, Key("path")]
    since: str
    """The oldest release with it."""
    without: str
    """The behaviour of older releases."""
    asked_by: str
    """``always``, or the setting of the spec behind it: ``names`` of servers, hashed ``queue-pairs``."""


@dataclass(frozen=True, slots=True)
class SystemReleases:
    """Releases of a system with known words, oldest first, and the ``default`` one."""

    known: tuple[str, ...]
    default: str
    relays_ipv6_until: str | None = None
    """The newest release with a setting for the server of a DHCPv6 relay; None if every release has one."""
    words: tuple[ReleaseWord, ...] = ()

    def knows(self, release: str) -> bool:
        """True for a known release, or a more detailed number of one."""
        return any(numbers(release)[: len(numbers(listed))] == numbers(listed) for listed in self.known)

    def relays_ipv6(self, release: str) -> bool:
        """True for a release with a setting for the server of a DHCPv6 relay."""
        until = self.relays_ipv6_until
        return until is None or numbers(release)[: len(numbers(until))] <= numbers(until)

    def lacking(self, release: str) -> tuple[ReleaseWord, ...]:
        """The words missing in a release; fewer numbers stand for the newest release beginning with them."""
        stated = numbers(release)
        return tuple(word for word in self.words if stated < numbers(word.since)[: len(stated)])


def numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release, for comparisons."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", release))
