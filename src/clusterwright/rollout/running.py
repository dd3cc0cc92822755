"""Devices that run already, though no state says that they were given anything: a lost state, or a cluster to adopt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.deploy.target import Holding, Unreachable
from clusterwright.deploy.targets import Chosen


@dataclass(frozen=True, slots=True)
class AskedDevices:
    """The answers of devices that no state knows of."""

    running: frozenset[str] = frozenset()
    """They hold files: of ours, or a configuration of their own."""
    silent: tuple[str, ...] = ()
    """They did not answer, and may run."""


def ask_devices(target: Chosen, names: Sequence[str]) -> AskedDevices:
    """Ask every device of ``names`` that the target reaches. Raises ClusterwrightError when none can be asked."""
    asked = target.carries(names) if names else ()
    if not asked:
        return AskedDevices()
    answers = target.open().read(asked)
    return AskedDevices(
        running=frozenset(name for name, answer in answers.items() if isinstance(answer, Holding) and answer.files),
        silent=tuple(name for name, answer in answers.items() if isinstance(answer, Unreachable)),
    )
