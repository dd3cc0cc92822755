"""Nodes that still have to boot: those with files since their last boot that the kernel reads at boot alone.

The record has the trees of a node and their times; the node itself reports when it booted and when files came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.device_files.effect import Effect
from clusterwright.plan.model import Device
from clusterwright.rollout.consequences import consequences_of
from clusterwright.rollout.device_history import OK, DeviceEvent

_LIMIT_S = 60
# When it booted (proc_stat(5)), and when it was last given files, by its own clock.
_BOOTED = (
    "sh",
    "-c",
    "sed -n 's/^btime //p' /proc/stat; stat -c %Y /var/lib/clusterwright/manifest.json 2>/dev/null || echo 0",
)


@dataclass(frozen=True, slots=True)
class NodeBoot:
    """When a node booted, and when it was given files last (0: never), in seconds since 1970 by its clock."""

    booted: int
    given: int


def last_boots(devices: Devices, names: Iterable[str]) -> Mapping[str, NodeBoot | str]:
    """The last boot of each node, or why it does not say."""
    answers = devices.run(dict.fromkeys(names, RemoteCommand(_BOOTED, _LIMIT_S)))
    boots: dict[str, NodeBoot | str] = {}
    for name, answer in answers.items():
        if not isinstance(answer, CommandResult):
            boots[name] = answer.message
            continue
        numbers = answer.output.split()
        is_answer = answer.status == 0 and len(numbers) == 2 and all(number.isdecimal() for number in numbers)
        boots[name] = NodeBoot(int(numbers[0]), int(numbers[1])) if is_answer else answer.said
    return boots


def owed_boot(device: Device, events: Sequence[DeviceEvent], store: Store, boot: NodeBoot | None) -> str:
    """The changes by a boot, "" for none. ``boot`` is None where the node was not asked.

    A node that booted while a rollout gave it files counts as one that booted before them.
    """
    given = [event for event in events if event.result == OK and event.tree]
    if boot is None:
        for before, after in reversed(list(pairwise(given))):
            if does := _read_at_boot(device, store, before.tree, after.tree):
                return f"given {after.at[:16]}: {does}; whether it booted since was not asked"
        return ""
    if not given or boot.booted > boot.given:
        return ""
    booted = datetime.fromtimestamp(boot.booted, UTC)
    earlier = [event for event in given if datetime.fromisoformat(event.at) <= booted]
    does = _read_at_boot(device, store, earlier[-1].tree if earlier else "", given[-1].tree)
    return f"booted {booted:%Y-%m-%dT%H:%M}, before it was given: {does}" if does else ""


def _read_at_boot(device: Device, store: Store, before: str, after: str) -> str:
    """The changes between two trees that the next boot alone brings, in words."""
    if before == after:
        return ""
    try:
        trees = store.get_differing(device.name, before, after) if before else ((), store.get_tree(device.name, after))
    except MissingObject:
        return "files that are lost, and may count at the next boot alone"
    words: dict[str, None] = {}
    for consequence in consequences_of(device, *trees):
        if consequence.effect is Effect.REBOOT:
            words[consequence.does or "files that the kernel reads at boot"] = None
    return ", ".join(words)
