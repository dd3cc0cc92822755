"""Devices that change, put together: those by equal lines in a group, groups that differ in numbers alone in a kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from clusterwright.compare.changes import FileDiff
from clusterwright.compare.configuration import Key, file_diffs, key_of
from clusterwright.deploy.target import DeviceTree
from clusterwright.plan.model import Plan
from clusterwright.render.forked import fan_out
from clusterwright.rollout.trees import Trees
from clusterwright.rollout.waves import Effect
from clusterwright.rollout.words import place_of

CHANGED, NEW, REMOVED, DRIFTED = "changed", "new", "removed", "drifted"
_OWN = re.compile(r"[0-9a-f:.]*\d[0-9a-f:.]*")
_FORK_FROM = 64  # devices; below, a fork costs more than it saves


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that change alike: by the same lines, to the same effect.

    ``status`` is ``changed``, ``new`` (nothing held), ``removed`` (all files go) or ``drifted`` (something unknown is
    held). ``files`` are shown as the first device has them, empty for new devices.
    """

    devices: tuple[str, ...]
    role: str
    status: str
    effect: Effect
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """Groups whose lines differ in numbers, addresses and names alone; ``place`` is where all their devices are."""

    groups: tuple[Group, ...]
    place: str

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of all groups."""
        return tuple(name for group in self.groups for name in group.devices)


def kinds_of(plan: Plan, before: Plan | None, trees: Trees, happens: Mapping[str, Effect]) -> tuple[Kind, ...]:
    """Every device that changes, in the plan's order of each kind's first. ``before`` is what was deployed."""
    found: dict[tuple[object, ...], list[Group]] = {}
    for group in _groups(plan, before, trees, happens):
        found.setdefault((group.role, group.status, group.effect, _shape(group.files)), []).append(group)
    kinds = []
    for (_, status, _, _), groups in found.items():
        names = [name for group in groups for name in group.devices]
        kinds.append(Kind(tuple(groups), place_of(before if status == REMOVED and before is not None else plan, names)))
    return tuple(kinds)


def _shape(files: Sequence[FileDiff]) -> tuple[object, ...]:
    """What is equal for devices whose files change alike but for numbers, addresses and names."""
    return tuple(
        (_OWN.sub("#", diff.path), diff.status, tuple(_OWN.sub("#", line) for line in diff.lines if line[:1] in "+-"))
        for diff in files
    )


def _groups(plan: Plan, before: Plan | None, trees: Trees, happens: Mapping[str, Effect]) -> Iterator[Group]:
    names = trees.changed
    compared = [name for name in names if trees.before[name] and name not in trees.unknown]
    shares = [compared[at::2] for at in range(2)] if len(compared) > _FORK_FROM else [compared]
    found = _compare(trees, compared) if len(shares) == 1 else fan_out(partial(_compare, trees), shares)
    diffs = {name: (key, files) for name, key, files in found}
    together: dict[tuple[str, str, Effect, Key], list[str]] = {}
    for name in names:
        status = _status(trees, name)
        device = plan.by_name[name] if name in plan.by_name else before.by_name[name] if before is not None else None
        role = device.role if device is not None else ""
        key = diffs[name][0] if name in diffs else ()
        together.setdefault((role, status, happens.get(name, Effect.LIVE), key), []).append(name)
    for (role, status, effect, _), members in together.items():
        files = diffs[members[0]][1] if members[0] in diffs else ()
        yield Group(tuple(members), role, status, effect, files)


def _status(trees: Trees, name: str) -> str:
    if name in trees.unknown:
        return DRIFTED
    if not trees.before[name]:
        return NEW
    return CHANGED if trees.after[name] else REMOVED


def _compare(trees: Trees, names: Sequence[str]) -> list[tuple[str, Key, tuple[FileDiff, ...]]]:
    found = []
    known: dict[tuple[str, ...], tuple[Key, tuple[FileDiff, ...]]] = {}
    for name in names:
        old, new = trees.before[name], trees.after[name]
        # Devices whose files change alike from the same bytes are compared once.
        left = {item.path: item for item in old}
        right = {item.path: item for item in new}
        paths = [path for path in sorted(left.keys() | right.keys()) if left.get(path) != right.get(path)]
        texts = tuple(
            f"{path} {side[path].sha256} {side[path].mode}" if path in side else path
            for path in paths
            for side in (left, right)
        )
        if texts not in known:
            files = (*file_diffs(old, new), *_modes(old, new))
            known[texts] = key_of(files), files
        found.append((name, *known[texts]))
    return found


def _modes(old: DeviceTree, new: DeviceTree) -> Iterator[FileDiff]:
    """Files that keep their bytes and get another mode."""
    modes = {item.path: (item.sha256, item.mode) for item in old}
    for item in sorted(new, key=lambda item: item.path):
        sha256, mode = modes.get(item.path, ("", 0))
        if sha256 == item.sha256 and mode != item.mode:
            yield FileDiff(item.path, "changed", (f"mode {mode:04o} → {item.mode:04o}",))
