"""Devices that run already, though no state says that they were given anything: a lost state, or a cluster to adopt."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.target import Holding
from clusterwright.deploy.targets import Chosen


def running_devices(target: Chosen, stacks: Iterable[Stack]) -> frozenset[str]:
    """Those devices of ``stacks`` that answer, and hold files: of ours, or a configuration of their own.

    A device that cannot be reached is not among them: nobody knows. Raises ClusterwrightError when none can be asked.
    """
    names = list(chain.from_iterable(stack.devices for stack in stacks))
    asked = target.carries(names) if names else ()
    if not asked:
        return frozenset()
    answers = target.open().read(asked)
    return frozenset(name for name, answer in answers.items() if isinstance(answer, Holding) and answer.files)
