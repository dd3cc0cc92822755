"""How a change goes over a running cluster: what may be disturbed at once, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clusterwright.spec.structuring import Key, Structuring
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """One question between waves: devices have ``deadline_s`` to be well.

    ``budget`` devices of a wave may be not well by this question alone, None leaves it to the rollout's own budget.
    """

    deadline_s: int
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class GatePolicies:
    """The questions that the devices themselves answer between waves.

    ``jobs``: those of nodes that go out of service, before their ports are shut; asked before a wave.
    ``sessions``: BGP sessions of changed switches; longer than the 120 s of their graceful restart. ``subnet``: the
    links of an InfiniBand fabric. ``verdicts``: the node check. ``isolation``: whether a node is closed.
    """

    jobs: GatePolicy
    sessions: GatePolicy
    subnet: GatePolicy
    verdicts: GatePolicy
    isolation: GatePolicy


@dataclass(frozen=True, slots=True)
class BootPolicy:
    """Nodes that read their files at boot are booted by Slurm within the wave.

    ``deadline_s`` is how long that may take with the jobs that end before it, ``boot_s`` the boot alone.
    """

    deadline_s: int
    boot_s: int


@dataclass(frozen=True, slots=True)
class Window:
    """A time of the day at which waves may start: ``opens`` and ``closes`` are HH:MM on the clock of ``timezone``.

    ``days`` (mon, tue, ...) are those on which it opens; one that closes no later than it opens ends on the next day.
    """

    days: tuple[str, ...]
    opens: Annotated[str, Key("from")]
    closes: Annotated[str, Key("to")]
    timezone: str
    path: Path

    @property
    def zone(self) -> ZoneInfo | None:
        """The time zone; None where this machine does not know it."""
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None


@dataclass(frozen=True, slots=True)
class Approver:
    """Somebody who may approve changes: a login name, and a public Ed25519 key in OpenSSH's form."""

    name: str
    key: str
    path: Path


@dataclass(frozen=True, slots=True)
class Notify:
    """A server that is told of rollouts at ``url``; ``secret`` names what messages are signed with."""

    url: str
    secret: str
    path: Path


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """Limits of a wave of a rollout.

    ``canaries`` units of each kind go first. While a wave lasts every rack outside it keeps at least
    ``min_bandwidth_percent`` of its way to the top of each fabric, and at most ``racks_at_once`` racks are disturbed.
    ``failure_budget`` devices of a wave may fail; one more stops the rollout. ``first_failure_percent`` of the devices
    of a stack may fail in its first update, and at least one: more, and no other stack is started. ``gates`` are asked
    after each wave.
    ``boots`` is None where nodes are booted by somebody else, at another time. Waves start in ``windows`` alone, at any
    time without one. With ``approvers``, ``approvals`` of them sign what is sent. ``notify`` is who is told of it.
    """

    canaries: int
    min_bandwidth_percent: float
    racks_at_once: int
    failure_budget: int
    first_failure_percent: float
    gates: GatePolicies
    boots: BootPolicy | None
    windows: tuple[Window, ...]
    approvers: tuple[Approver, ...]
    approvals: int
    notify: Notify | None
    path: Path


DEFAULT_ROLLOUT = Structuring("cluster").fields(RolloutPolicy, {}, ("rollout",))
"""What holds where the spec is silent."""
