"""Releases of switch systems: those whose words are known, and words that only newer ones have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from clusterwright.spec.structuring import Key


@dataclass(frozen=True, slots=True)
class ReleaseWord:
    """A word that is written in every release, and that only newer ones have."""

    spelling: Annotated[str, Key("path")]
    since: str
    """The oldest release that has it."""
    without: str
    """What an older one does instead."""
    asked_by: str
    """``always``, or what of the spec writes it: ``names`` of servers, ``queue-pairs`` that are hashed."""


@dataclass(frozen=True, slots=True)
class SystemReleases:
    """Releases of a system whose words are known, oldest first, and the one that is written for by ``default``."""

    known: tuple[str, ...]
    default: str
    relays_ipv6_until: str | None = None
    """The newest that can be told which server a DHCPv6 relay asks; None where every one can."""
    words: tuple[ReleaseWord, ...] = ()

    def knows(self, release: str) -> bool:
        """True for a release that is known, or begins with one that is."""
        return any(numbers(release)[: len(numbers(listed))] == numbers(listed) for listed in self.known)

    def relays_ipv6(self, release: str) -> bool:
        """True where a release can be told which server a DHCPv6 relay asks."""
        until = self.relays_ipv6_until
        return until is None or numbers(release)[: len(numbers(until))] <= numbers(until)

    def lacking(self, release: str) -> tuple[ReleaseWord, ...]:
        """The words that a release does not have; one with fewer numbers stands for the newest that begin with them."""
        stated = numbers(release)
        return tuple(word for word in self.words if stated < numbers(word.since)[: len(stated)])


def numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release, by which one comes before another."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", release))
