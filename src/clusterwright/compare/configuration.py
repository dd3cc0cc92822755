"""Configuration before and after: the lines that change on each device, equal changes told once.

Every device of both plans is rendered and its bytes are compared: what a device's files depend on is the renderers'
business, and a rule about which devices may be skipped would have to know it as well. Forked workers share both plans.
"""

from __future__ import annotations

import os
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
"""Stands for the lines of a file that is no text."""
BLOCK = 64  # neighbours share cached text, so they stay together

# Devices with equal changes have equal keys: path, status and the lines that come and go, without their surroundings.
Key = tuple[tuple[str, str, tuple[str, ...]], ...]
Found = tuple[int, Key, tuple[FileDiff, ...]]


def config_changes(
    before: Plan, after: Plan, renamed: Mapping[str, str], workers: int | None = None
) -> tuple[ConfigGroup, ...]:
    """The devices in both plans whose files differ, grouped by equal changes, in the second plan's order.

    ``renamed`` maps names of ``before`` to those of ``after``. Raises what a renderer raises.
    """
    old_names = {new: old for old, new in renamed.items()}
    pairs = [
        (index, old, device.name)
        for index, device in enumerate(after.devices)
        if (old := old_names.get(device.name, device.name)) in before.by_name
    ]
    blocks = [pairs[start : start + BLOCK] for start in range(0, len(pairs), BLOCK)]
    count = min(workers or len(os.sched_getaffinity(0)), len(blocks))
    shares = [list(chain.from_iterable(blocks[index::count])) for index in range(count)]
    prepare(before, after)
    work = partial(_compare, before, after)
    changes_by_share = work(pairs) if count <= 1 else fan_out(work, shares)
    groups: dict[tuple[str, Key], list[Found]] = {}
    for item in sorted(changes_by_share, key=lambda item: item[0]):
        groups.setdefault((after.devices[item[0]].role, item[1]), []).append(item)
    of_devices = [
        ConfigGroup(tuple(after.devices[index].name for index, _, _ in items), role, items[0][2])
        for (role, _), items in groups.items()
    ]
    return (*of_devices, *_of_site(before, after))


def _of_site(before: Plan, after: Plan) -> Iterator[ConfigGroup]:
    """The changes for the site's own servers."""
    old, new = Rendering(before).of_site(), Rendering(after).of_site()
    for owner in sorted({artifact.device for artifact in (*old, *new)}):
        before_files = [file for file in old if file.device == owner]
        after_files = [file for file in new if file.device == owner]
        diffs = file_diffs(before_files, after_files)
        if diffs:
            yield ConfigGroup((owner,), "server of the site", diffs)


def _compare(before: Plan, after: Plan, pairs: Sequence[tuple[int, str, str]]) -> list[Found]:
    changed: list[Found] = []
    for index, old_name, new_name in pairs:
        diffs = file_diffs(Rendering(before).of_device(old_name), Rendering(after).of_device(new_name))
        if diffs:
            changed.append((index, key_of(diffs), diffs))
    return changed


def file_diffs(before: Iterable[Artifact], after: Iterable[Artifact]) -> tuple[FileDiff, ...]:
    """The files of a device whose bytes differ between two of its trees, by path."""
    old = {artifact.path: artifact for artifact in before}
    new = {artifact.path: artifact for artifact in after}
    return tuple(
        _diff(path, old[path].content if path in old else None, new[path].content if path in new else None)
        for path in sorted(old.keys() | new.keys())
        if path not in old or path not in new or old[path].sha256 != new[path].sha256
    )


def key_of(diffs: Iterable[FileDiff]) -> Key:
    """The common key of devices that change by the same lines."""
    return tuple(
        (diff.path, diff.status, diff.lines if diff.lines == (BINARY,) else _without_surroundings(diff.lines))
        for diff in diffs
    )


def is_text(content: bytes) -> bool:
    """Whether people can read a file: an archive, whatever text it holds, has bytes of no text in it."""
    try:
        return b"\0" not in content and content.decode() is not None
    except UnicodeDecodeError:
        return False


def _diff(path: str, old: bytes | None, new: bytes | None) -> FileDiff:
    status = "added" if old is None else "removed" if new is None else "changed"
    if not all(is_text(content) for content in (old, new) if content is not None):
        return FileDiff(path, status, (BINARY,))
    lines = list(unified_diff(_lines(old), _lines(new), lineterm="", n=CONTEXT_LINES))[2:]
    return FileDiff(path, status, tuple(lines) or ("only line endings differ",))


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode("utf-8", "backslashreplace").splitlines()


def _without_surroundings(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line[:1] in "+-")
