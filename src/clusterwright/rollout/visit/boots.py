"""Nodes still to be booted: those with files that the kernel reads at boot alone, changed since their last boot.

The record has the trees of a node and their times; the node itself reports the times of its last boot and last files.
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
# Time of the last boot (proc_stat(5)), and of the last files, by the node's own clock.
_BOOTED = (
    "sh",
    "-c",
    "sed -n 's/^btime //p' /proc/stat; stat -c %Y /var/lib/clusterwright/manifest.json 2>/dev/null || echo 0",
)


@dataclass(frozen=True, slots=True)
class NodeBoot:
    """Times of a node's last boot and last files (0: never), in seconds since 1970 by its clock."""

    booted: int
    given: int


def last_boots(devices: Devices, names: Iterable[str]) -> Mapping[str, NodeBoot | str]:
    """The last boot of each node, or the reason for no answer."""
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
    """Changes that need a boot, "" for none. ``boot`` is None for a node not queried.

    A node booted while a rollout sent it files counts as booted before them.
    """
    given = [event for event in events if event.result == OK and event.tree]
    if boot is None:
        for before, after in reversed(list(pairwise(given))):
            if does := _read_at_boot(device, store, before.tree, after.tree):
                return f"deployed {after.at[:16]}: {does}; its boot time was not queried"
        return ""
    if not given or boot.booted > boot.given:
        return ""
    booted = datetime.fromtimestamp(boot.booted, UTC)
    earlier = [event for event in given if datetime.fromisoformat(event.at) <= booted]
    does = _read_at_boot(device, store, earlier[-1].tree if earlier else "", given[-1].tree)
    return f"booted {booted:%Y-%m-%dT%H:%M}, before the deployment of: {does}" if does else ""


def _read_at_boot(device: Device, store: Store, before: str, after: str) -> str:
    """Changes between two trees with an effect at the next boot alone, in words."""
    if before == after:
        return ""
    try:
        trees = store.get_differing(device.name, before, after) if before else ((), store.get_tree(device.name, after))
    except MissingObject:
        return "files that are no longer in the store, and may take effect at the next boot"
    words: dict[str, None] = {}
    for consequence in consequences_of(device, *trees):
        if consequence.effect is Effect.REBOOT:
            words[consequence.does or "files that the kernel reads at boot"] = None
    return ", ".join(words)
