"""A running switch with NVUE against its rendered file: objects, in any form of its release.

`nv config show -o yaml` merges ports of equal settings to ranges, and shows secrets encrypted and passwords as `*`.
Objects not set by the plan are reported, unless NVUE sets them by itself, and a release with other words.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.device_files.drift import Difference, FileDifference
from clusterwright.packets.tokens import Unreadable
from clusterwright.placeholder import PLACEHOLDER
from clusterwright.switches.nvue.reader.defaults import is_all_default, one_word
from clusterwright.switches.nvue.reader.normal_form import normal_form
from clusterwright.switches.nvue.reader.objects import Object, shown
from clusterwright.switches.nvue.reader.releases import all_nvue_objects, release_bounds, stated_release
from clusterwright.switches.nvue.words.table import dotted

_HIDDEN = ("$nvsec$", "$6$", "$y$")  # a secret that NVUE encrypted, passwords that it hashed
_Path = tuple[str, ...]


def compare_nvue(planned: str, runs: str) -> Iterator[FileDifference]:
    """Objects and values by their paths. Raises ValueError."""
    try:
        planned, runs = normal_form(planned), normal_form(runs)
        wanted, running = all_nvue_objects(planned), all_nvue_objects(runs)
        since, until = release_bounds(planned)
    except Unreadable as error:
        raise ValueError(str(error)) from None
    release = stated_release(runs)
    if release is not None and ((since and release < since) or (until and release >= until)):
        bounds = [f"{word} {dotted(release)}" for word, release in (("since", since), ("before", until)) if release]
        stated = dotted(release)
        yield Difference.CHANGED, "header version", ", ".join(bounds), stated, ("header", "version"), stated
    yield from _compare(wanted, running, ())


def _compare(planned: Object, runs: Object, path: _Path) -> Iterator[FileDifference]:
    if not planned.below and not runs.below:
        if not _is_same(planned.value, runs.value):
            yield Difference.CHANGED, shown(path), planned.value, runs.value, path, runs.value
        return
    for name, planned_object in planned.below.items():
        here = (*path, name)
        if name in runs.below:
            yield from _compare(planned_object, runs.below[name], here)
        elif (not _is_secret(name) or not any(map(_is_secret, runs.below))) and not is_all_default(
            here, planned_object
        ):
            yield Difference.MISSING, shown(here), _as_text(planned_object), "", here, None
    for name, running_object in runs.below.items():
        here = (*path, name)
        if name in planned.below or is_all_default(here, running_object):
            continue
        if not (_is_secret(name) and any(map(_is_secret, planned.below))):
            yield Difference.UNEXPECTED, shown(here), "", _as_text(running_object), here, _as_text(running_object)


def _is_same(planned: str, runs: str) -> bool:
    hidden = runs == "*" or _is_secret(runs)
    same = one_word(planned) == one_word(runs)
    return same or (hidden and (_is_secret(planned) or planned == "*"))


def _is_secret(text: str) -> bool:
    return text.startswith(_HIDDEN) or PLACEHOLDER.search(text) is not None


def _as_text(node: Object) -> str:
    """An object in one line, its values by their paths."""
    if not node.below:
        return node.value or "{}"
    return ", ".join(f"{name}: {_as_text(below)}" for name, below in node.below.items())
