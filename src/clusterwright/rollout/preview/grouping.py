"""Devices that change, put together: those by equal lines in a group, groups that differ in numbers alone in a kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.compare.changes import FileDiff
from clusterwright.compare.configuration import Key, file_diffs, key_of
from clusterwright.deploy.target import DeviceTree
from clusterwright.device_files.effect import Effect
from clusterwright.plan.model import Plan
from clusterwright.rollout.consequences import consequences_of
from clusterwright.rollout.preview.sentences import place_of
from clusterwright.rollout.preview.takeover import taken_over
from clusterwright.rollout.trees import Trees

CHANGED, NEW, REMOVED, DRIFTED = "changed", "new", "removed", "drifted"
_FEW = 3
_OWN = re.compile(r"(?:[0-9a-f]{2}-){5}[0-9a-f]{2}|[0-9a-f:.]*\d[0-9a-f:.]*")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that changes, and the paths ``also`` of others of its pattern that do, as those that are one a node."""

    diff: FileDiff
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices that change alike: by the same lines, to the same effect.

    ``status`` is ``changed``, ``new`` (nothing held), ``removed`` (all files go) or ``drifted`` (something unknown is
    held). ``files`` are shown as the first device has them, empty for new devices.
    """

    devices: tuple[str, ...]
    role: str
    status: str
    effect: Effect
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class GroupKind:
    """Groups whose lines differ in numbers, addresses and names alone; ``place`` is where all their devices are.

    ``does`` are sentences: the consequences for the first device while the change is applied.
    """

    groups: tuple[DeviceGroup, ...]
    place: str
    does: tuple[str, ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of all groups."""
        return tuple(chain.from_iterable(group.devices for group in self.groups))


def kinds_of(plan: Plan, before: Plan | None, trees: Trees, happens: Mapping[str, Effect]) -> tuple[GroupKind, ...]:
    """Every device that changes, in the plan's order of each kind's first. ``before`` is the deployed plan."""
    groups_by_kind: dict[tuple[object, ...], list[DeviceGroup]] = {}
    for group in _groups(plan, before, trees, happens):
        groups_by_kind.setdefault((group.role, group.status, group.effect, _shape(group.files)), []).append(group)
    kinds = []
    for (_, status, _, _), groups in groups_by_kind.items():
        names = list(chain.from_iterable(group.devices for group in groups))
        place = place_of(before if status == REMOVED and before is not None else plan, names)
        does = _does(plan, trees, names[0]) if status == CHANGED else ()
        if status == NEW:
            does = taken_over(plan, names[0])
        kinds.append(GroupKind(tuple(groups), place, does))
    return tuple(kinds)


def _does(plan: Plan, trees: Trees, name: str) -> tuple[str, ...]:
    """Consequences of a device's change, the worst first."""
    consequences = consequences_of(plan.by_name[name], trees.before[name], trees.after[name])
    worst_first = sorted(
        (consequence for consequence in consequences if consequence.does), key=lambda consequence: -consequence.effect
    )
    return tuple(dict.fromkeys(consequence.does for consequence in worst_first))


def _shape(files: Sequence[FileChange]) -> frozenset[object]:
    """A key that is equal for devices whose files change alike but for numbers, addresses and names."""
    return frozenset(
        (_OWN.sub("#", file.diff.path), file.diff.status, _OWN.sub("#", "\n".join(_signed(file.diff.lines))))
        for file in files
    )


def _signed(lines: Sequence[str]) -> Iterator[str]:
    return (line for line in lines if line[:1] in "+-")


def _groups(plan: Plan, before: Plan | None, trees: Trees, happens: Mapping[str, Effect]) -> Iterator[DeviceGroup]:
    names = trees.changed
    compared = _compare(trees, [name for name in names if name in trees.held and name in trees.files])
    diffs = {name: (key, files) for name, key, files in compared}
    together: dict[tuple[str, str, Effect, Key], list[str]] = {}
    for name in names:
        status = _status(trees, name)
        device = plan.by_name[name] if name in plan.by_name else before.by_name[name] if before is not None else None
        role = device.role if device is not None else ""
        key = diffs[name][0] if name in diffs else ()
        together.setdefault((role, status, happens.get(name, Effect.LIVE), key), []).append(name)
    for (role, status, effect, _), members in together.items():
        files = diffs[members[0]][1] if members[0] in diffs else ()
        yield DeviceGroup(devices=tuple(members), role=role, status=status, effect=effect, files=files)


def _status(trees: Trees, name: str) -> str:
    if name in trees.unknown:
        return DRIFTED
    if name in trees.new:
        return NEW
    return CHANGED if name in trees.files else REMOVED


def _compare(trees: Trees, names: Sequence[str]) -> list[tuple[str, Key, tuple[FileChange, ...]]]:
    compared = []
    changes_by_texts: dict[tuple[tuple[str, int, str], ...], tuple[Key, tuple[FileChange, ...]]] = {}
    for name in names:
        old, new = trees.before[name], trees.after[name]
        # Devices whose files change alike from the same bytes are compared once.
        texts = tuple((file.path, file.mode, file.sha256) for file in (*old, *new))
        if texts not in changes_by_texts:
            files = tuple(_changes(old, new))
            changes_by_texts[texts] = key_of(change.diff for change in files), files
        compared.append((name, *changes_by_texts[texts]))
    return compared


def _changes(before: DeviceTree, after: DeviceTree) -> Iterator[FileChange]:
    """The files of one device; of many that bear one pattern of names only the first is compared."""
    old = {item.path: item for item in before}
    new = {item.path: item for item in after}
    patterns: dict[tuple[str, bool, bool], list[str]] = {}
    for path in sorted(old.keys() | new.keys()):
        patterns.setdefault((_OWN.sub("#", path), path in old, path in new), []).append(path)
    for paths in patterns.values():
        shown = paths if len(paths) <= _FEW else paths[:1]
        for path in shown:
            also = tuple(paths[1:]) if len(shown) < len(paths) else ()
            yield FileChange(_diff(path, old.get(path), new.get(path)), also)


def _diff(path: str, old: Artifact | None, new: Artifact | None) -> FileDiff:
    if old is not None and new is not None and old.sha256 == new.sha256:
        return FileDiff(path, "changed", (f"mode {old.mode:04o} → {new.mode:04o}",))
    return file_diffs([old] if old is not None else [], [new] if new is not None else [])[0]
