"""What gates that ask the devices themselves have in common."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.deploy.ansible.query import Devices
from clusterwright.plan.model import Plan
from clusterwright.spec.rollout import GatePolicy


@dataclass(frozen=True, slots=True)
class DeviceGate:
    """A ``Gate``: the plan says what to expect, ``devices`` answers, ``policy`` is what the spec allows it."""

    plan: Plan
    devices: Devices
    policy: GatePolicy

    @property
    def budget(self) -> int | None:
        """See ``Gate``."""
        return self.policy.budget

    @property
    def deadline_s(self) -> int:
        """See ``Gate``."""
        return self.policy.deadline_s
