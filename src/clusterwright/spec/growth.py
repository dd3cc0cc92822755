"""How a cluster grows: what stood before, how long freed ports rest, and what is called otherwise from now on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clusterwright.spec.structuring import Key
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class AllocationPolicy:
    """``before`` names the allocation file of the phase before, read until the spec has its own.

    A port or an address that something gave up is not handed out again for ``quarantine_days``.
    """

    before: Annotated[str | None, Key("from")]
    quarantine_days: int
    path: Path


NO_ALLOCATION = AllocationPolicy(None, 30, ("allocation",))


@dataclass(frozen=True, slots=True)
class Renamed:
    """An object formerly called ``was``.

    Node group ``nodes``, ``fabric``, or ``tier``, the role of a tier of ``fabric``.
    """

    was: str
    nodes: str | None
    fabric: str | None
    tier: str | None
    path: Path
