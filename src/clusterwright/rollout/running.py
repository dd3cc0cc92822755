"""Running devices without a recorded state, as after a loss of the state or before adopting a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.deploy.target import Holding, Unreachable
from clusterwright.deploy.targets import TargetSettings


@dataclass(frozen=True, slots=True)
class AskedDevices:
    """Answers of devices without a recorded state."""

    running: frozenset[str] = frozenset()
    """Devices with files: rendered ones, or another configuration."""
    silent: tuple[str, ...] = ()
    """Devices without an answer, which may run."""


def ask_devices(target: TargetSettings, names: Sequence[str]) -> AskedDevices:
    """Query the devices of ``names`` in the target's reach. Raises ClusterwrightError if none can be queried."""
    asked = target.carries(names) if names else ()
    if not asked:
        return AskedDevices()
    answers = target.open().read(asked)
    return AskedDevices(
        running=frozenset(name for name, answer in answers.items() if isinstance(answer, Holding) and answer.files),
        silent=tuple(name for name, answer in answers.items() if isinstance(answer, Unreachable)),
    )
