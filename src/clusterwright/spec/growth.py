"""Growth of a cluster: the previous phase, the quarantine of freed ports, and renamed objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clusterwright.spec.structuring import Key
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class AllocationPolicy:
    """``before`` names the allocation file of the previous phase, used until the spec has one itself.

    A freed port or address is not assigned again for ``quarantine_days``.
    """

    before: Annotated[str | None, Key("from")]
    quarantine_days: int
    path: Path


NO_ALLOCATION = AllocationPolicy(None, 30, ("allocation",))


@dataclass(frozen=True, slots=True)
class Renamed:
    """An object with the former name ``was``.

    Node group ``nodes``, ``fabric``, or ``tier``, the role of a tier of ``fabric``.
    """

    was: str
    nodes: str | None
    fabric: str | None
    tier: str | None
    path: Path
