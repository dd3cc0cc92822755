"""Configuration before and after: the changed lines of each device, equal changes once.

Every device of both plans is rendered and its bytes are compared: only the renderers know the dependencies of a
device's files, and a rule for skipping devices would duplicate that knowledge. Forked workers share both plans.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.compare.changes import ConfigGroup, FileDiff
from clusterwright.output.forked import fan_out, prepare
from clusterwright.output.rendering import Rendering

if TYPE_CHECKING:
    from clusterwright.artifact import Artifact
    from clusterwright.plan.model import Plan

CONTEXT_LINES = 2
BINARY = "binary"
"""Stands for the lines of a binary file."""
BLOCK = 64  # neighbours share cached text, so they stay together

# Devices with equal changes have equal keys: path, status, and removed and added lines without their context.
Key = tuple[tuple[str, str, tuple[str, ...]], ...]
DeviceDiff = tuple[int, Key, tuple[FileDiff, ...]]


def config_changes(
    before: Plan, after: Plan, renamed: Mapping[str, str], workers: int | None = None
) -> tuple[ConfigGroup, ...]:
    """Devices of both plans with changed files, grouped by equal changes, in the second plan's order.

    ``renamed`` maps names of ``before`` to those of ``after``. Raises the errors of the renderers.
    """
    old_names = {new: old for old, new in renamed.items()}
    pairs = []
    for index, device in enumerate(after.devices):
        old_name = old_names.get(device.name, device.name)
        if old_name in before.by_name:
            pairs.append((index, old_name, device.name))
    blocks = [pairs[start : start + BLOCK] for start in range(0, len(pairs), BLOCK)]
    count = min(workers or len(os.sched_getaffinity(0)), len(blocks))
    shares = [list(chain.from_iterable(blocks[index::count])) for index in range(count)]
    prepare(before, after)
    work = partial(_compare, before, after)
    device_diffs = work(pairs) if count <= 1 else fan_out(work, shares)
    diffs_by_key: dict[tuple[str, Key], list[DeviceDiff]] = defaultdict(list)
    for device_diff in sorted(device_diffs, key=lambda diff: diff[0]):
        index, key, _ = device_diff
        diffs_by_key[after.devices[index].role, key].append(device_diff)
    groups = []
    for (role, _), diffs in diffs_by_key.items():
        names = tuple(after.devices[index].name for index, _, _ in diffs)
        groups.append(ConfigGroup(devices=names, role=role, files=diffs[0][2]))
    return (*groups, *_of_site(before, after))


def _of_site(before: Plan, after: Plan) -> Iterator[ConfigGroup]:
    """The changes for the site's own servers."""
    old, new = Rendering(before).of_site(), Rendering(after).of_site()
    owners = {artifact.device for artifact in (*old, *new)}
    for owner in sorted(owners):
        old_files = [file for file in old if file.device == owner]
        new_files = [file for file in new if file.device == owner]
        diffs = file_diffs(old_files, new_files)
        if diffs:
            yield ConfigGroup((owner,), "server of the site", diffs)


def _compare(before: Plan, after: Plan, pairs: Sequence[tuple[int, str, str]]) -> list[DeviceDiff]:
    changed: list[DeviceDiff] = []
    for index, old_name, new_name in pairs:
        diffs = file_diffs(Rendering(before).of_device(old_name), Rendering(after).of_device(new_name))
        if diffs:
            changed.append((index, key_of(diffs), diffs))
    return changed


def file_diffs(before: Iterable[Artifact], after: Iterable[Artifact]) -> tuple[FileDiff, ...]:
    """The files of a device with differing bytes in two of its trees, by path."""
    old = {artifact.path: artifact for artifact in before}
    new = {artifact.path: artifact for artifact in after}
    diffs = []
    for path in sorted(old.keys() | new.keys()):
        if path not in old:
            diffs.append(_diff(path, None, new[path].content))
        elif path not in new:
            diffs.append(_diff(path, old[path].content, None))
        elif old[path].sha256 != new[path].sha256:
            diffs.append(_diff(path, old[path].content, new[path].content))
    return tuple(diffs)


def key_of(diffs: Iterable[FileDiff]) -> Key:
    """The common key of devices with the same changed lines."""
    parts = []
    for diff in diffs:
        lines = diff.lines if diff.lines == (BINARY,) else _without_context(diff.lines)
        parts.append((diff.path, diff.status, lines))
    return tuple(parts)


def is_text(content: bytes) -> bool:
    """Whether a file is readable text; an archive is not, even if it holds text."""
    try:
        return b"\0" not in content and content.decode() is not None
    except UnicodeDecodeError:
        return False


def _diff(path: str, old: bytes | None, new: bytes | None) -> FileDiff:
    if old is None:
        status = "added"
    elif new is None:
        status = "removed"
    else:
        status = "changed"
    if not all(is_text(content) for content in (old, new) if content is not None):
        return FileDiff(path=path, status=status, lines=(BINARY,))
    lines = list(unified_diff(_lines(old), _lines(new), lineterm="", n=CONTEXT_LINES))[2:]
    return FileDiff(path=path, status=status, lines=tuple(lines) or ("only line endings differ",))


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode("utf-8", "backslashreplace").splitlines()


def _without_context(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line[:1] in "+-")
