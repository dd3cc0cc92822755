"""Rollout of changes in a running cluster: limits of disturbance, and conditions for stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clusterwright.spec.structuring import Key, Structuring
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """One question between waves: devices must be healthy within ``deadline_s``.

    ``budget`` is the accepted number of failing devices of a wave in this gate, None for the rollout's budget.
    """

    deadline_s: int
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class GatePolicies:
    """The gates between waves that query the devices themselves.

    ``jobs``: those of nodes going out of service, before their ports are shut; checked before a wave. ``sessions``: BGP
    sessions of changed switches; longer than the 120 s of their graceful restart. ``subnet``: the links of an
    InfiniBand fabric. ``verdicts``: the node check. ``isolation``: whether a node is closed.
    """

    jobs: GatePolicy
    sessions: GatePolicy
    subnet: GatePolicy
    verdicts: GatePolicy
    isolation: GatePolicy


@dataclass(frozen=True, slots=True)
class BootPolicy:
    """Reboot by Slurm within the wave, for nodes that read their files at boot.

    ``deadline_s`` is the time limit including the end of running jobs, ``boot_s`` that of the boot alone.
    """

    deadline_s: int
    boot_s: int


@dataclass(frozen=True, slots=True)
class Window:
    """A time of day for starting waves: ``opens`` and ``closes`` are HH:MM on the clock of ``timezone``.

    ``days`` (mon, tue, ...) are the days of its opening; a window with ``closes`` at or before ``opens`` ends on the
    next day.
    """

    days: tuple[str, ...]
    opens: Annotated[str, Key("from")]
    closes: Annotated[str, Key("to")]
    timezone: str
    path: Path

    @property
    def zone(self) -> ZoneInfo | None:
        """The time zone; None if it is unknown on this machine."""
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None


@dataclass(frozen=True, slots=True)
class Approver:
    """A person with the right to approve changes: a login name, and a public Ed25519 key in OpenSSH's form."""

    name: str
    key: str
    path: Path


@dataclass(frozen=True, slots=True)
class Notify:
    """A server notified of rollouts at ``url``; ``secret`` names the key for signing messages."""

    url: str
    secret: str
    path: Path


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """Limits of a wave of a rollout."""

    canaries: int
    """Units of each kind that go first."""
    min_bandwidth_percent: float
    """Least bandwidth of every rack outside the wave to the top of each fabric."""
    racks_at_once: int
    """Most racks disturbed at a time."""
    failure_budget: int
    """Devices of a wave that may fail; one more stops the rollout."""
    first_failure_percent: float
    """Share of the devices of a stack that may fail in its first update, at least one device. With more failures no
    other stack is started."""
    gates: GatePolicies
    """Checked after each wave."""
    boots: BootPolicy | None
    """None if nodes are booted by other means, at another time."""
    windows: tuple[Window, ...]
    """Times for starting waves; any time without one."""
    approvers: tuple[Approver, ...]
    approvals: int
    """Number of ``approvers`` that sign the change."""
    notify: Notify | None
    """The server to notify."""
    path: Path


DEFAULT_ROLLOUT = Structuring("cluster").fields(RolloutPolicy, {}, ("rollout",))
"""The default of the schema."""
