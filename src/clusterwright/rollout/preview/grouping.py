"""Groups of devices with equal changed lines, and kinds of groups differing in numbers, addresses and names alone."""

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
    """A changed file, and the paths ``also`` of further changed files of its pattern, as of one file a node."""

    diff: FileDiff
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """Devices with the same changed lines and the same effect.

    ``status`` is ``changed``, ``new`` (holds nothing), ``removed`` (loses all files) or ``drifted`` (holds unknown
    files). ``files`` are those of the first device, empty for new devices.
    """

    devices: tuple[str, ...]
    role: str
    status: str
    effect: Effect
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class GroupKind:
    """Groups differing in numbers, addresses and names alone; ``place`` is the place of all their devices.

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
    """All changed devices by kind, in the plan's order of each kind's first one. ``before`` is the deployed plan."""
    groups_by_kind: dict[tuple[object, ...], list[DeviceGroup]] = {}
    for group in _groups(plan, before, trees, happens):
        groups_by_kind.setdefault((group.role, group.status, group.effect, _shape(group.files)), []).append(group)
    kinds = []
    for (_, status, _, _), groups in groups_by_kind.items():
        names = list(chain.from_iterable(group.devices for group in groups))
        holding_plan = before if status == REMOVED and before is not None else plan
        if status == CHANGED:
            does = _does(plan, trees, names[0])
        elif status == NEW:
            does = taken_over(plan, names[0])
        else:
            does = ()
        kinds.append(GroupKind(groups=tuple(groups), place=place_of(holding_plan, names), does=does))
    return tuple(kinds)


def _does(plan: Plan, trees: Trees, name: str) -> tuple[str, ...]:
    """Consequences of a device's change, the worst first."""
    consequences = consequences_of(plan.by_name[name], trees.before[name], trees.after[name])
    noticeable = [consequence for consequence in consequences if consequence.does]
    noticeable.sort(key=lambda consequence: -consequence.effect)
    return tuple(dict.fromkeys(consequence.does for consequence in noticeable))


def _shape(files: Sequence[FileChange]) -> frozenset[object]:
    """A key of changed files, without numbers, addresses and names."""
    shapes: set[object] = set()
    for file in files:
        path = _OWN.sub("#", file.diff.path)
        lines = _OWN.sub("#", "\n".join(_signed(file.diff.lines)))
        shapes.add((path, file.diff.status, lines))
    return frozenset(shapes)


def _signed(lines: Sequence[str]) -> Iterator[str]:
    return (line for line in lines if line[:1] in "+-")


def _groups(plan: Plan, before: Plan | None, trees: Trees, happens: Mapping[str, Effect]) -> Iterator[DeviceGroup]:
    names = trees.changed
    compared = _compare(trees, [name for name in names if name in trees.held and name in trees.files])
    diffs = {name: (key, files) for name, key, files in compared}
    together: dict[tuple[str, str, Effect, Key], list[str]] = {}
    for name in names:
        key = diffs[name][0] if name in diffs else ()
        properties = (_role(plan, before, name), _status(trees, name), happens.get(name, Effect.LIVE), key)
        together.setdefault(properties, []).append(name)
    for (role, status, effect, _), members in together.items():
        files = diffs[members[0]][1] if members[0] in diffs else ()
        yield DeviceGroup(devices=tuple(members), role=role, status=status, effect=effect, files=files)


def _role(plan: Plan, before: Plan | None, name: str) -> str:
    """The role of a device in the plan, or in the deployed one; "" without that."""
    if name in plan.by_name:
        return plan.by_name[name].role
    return before.by_name[name].role if before is not None else ""


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
        # Devices with the same bytes before and after are compared once.
        texts = tuple((file.path, file.mode, file.sha256) for file in (*old, *new))
        if texts not in changes_by_texts:
            files = tuple(_changes(old, new))
            changes_by_texts[texts] = key_of(change.diff for change in files), files
        compared.append((name, *changes_by_texts[texts]))
    return compared


def _changes(before: DeviceTree, after: DeviceTree) -> Iterator[FileChange]:
    """Changed files of a device; of more than three paths of one pattern only the first is compared."""
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
