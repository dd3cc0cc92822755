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
from clusterwright.switches.nvue.words.table import Release, dotted

_HIDDEN = ("$nvsec$", "$6$", "$y$")  # a secret that NVUE encrypted, passwords that it hashed
_Path = tuple[str, ...]


def compare_nvue(planned: str, runs: str) -> Iterator[FileDifference]:
    """Objects and values by their paths. Raises ValueError."""
    try:
        planned_text, running_text = normal_form(planned), normal_form(runs)
        planned_root, running_root = all_nvue_objects(planned_text), all_nvue_objects(running_text)
        since, until = release_bounds(planned_text)
    except Unreadable as error:
        raise ValueError(str(error)) from None
    release = stated_release(running_text)
    if release is not None and not _is_within(release, since, until):
        stated = dotted(release)
        yield Difference.CHANGED, "header version", _shown_bounds(since, until), stated, ("header", "version"), stated
    yield from _compare(planned_root, running_root, ())


def _is_within(release: Release, since: Release | None, until: Release | None) -> bool:
    """Whether a release is at least ``since`` and before ``until``, as far as these are known."""
    is_too_old = since is not None and release < since
    is_too_new = until is not None and release >= until
    return not (is_too_old or is_too_new)


def _shown_bounds(since: Release | None, until: Release | None) -> str:
    bounds = []
    if since is not None:
        bounds.append(f"since {dotted(since)}")
    if until is not None:
        bounds.append(f"before {dotted(until)}")
    return ", ".join(bounds)


def _compare(planned: Object, runs: Object, path: _Path) -> Iterator[FileDifference]:
    """The differences of two objects at a path."""
    if not planned.below and not runs.below:
        if not _is_same(planned.value, runs.value):
            yield Difference.CHANGED, shown(path), planned.value, runs.value, path, runs.value
        return
    for name, planned_object in planned.below.items():
        here = (*path, name)
        if name in runs.below:
            yield from _compare(planned_object, runs.below[name], here)
        elif not _is_secret_among(name, runs) and not is_all_default(here, planned_object):
            yield Difference.MISSING, shown(here), _as_text(planned_object), "", here, None
    for name, running_object in runs.below.items():
        here = (*path, name)
        if name in planned.below or _is_secret_among(name, planned) or is_all_default(here, running_object):
            continue
        text = _as_text(running_object)
        yield Difference.UNEXPECTED, shown(here), "", text, here, text


def _is_secret_among(name: str, other: Object) -> bool:
    """Whether a name is a secret, and the other object has one too: the same in another form."""
    return _is_secret(name) and any(_is_secret(other_name) for other_name in other.below)


def _is_same(planned: str, runs: str) -> bool:
    if one_word(planned) == one_word(runs):
        return True
    return _is_hidden(planned) and _is_hidden(runs)


def _is_hidden(value: str) -> bool:
    return value == "*" or _is_secret(value)


def _is_secret(text: str) -> bool:
    return text.startswith(_HIDDEN) or PLACEHOLDER.search(text) is not None


def _as_text(node: Object) -> str:
    """An object in one line, its values by their paths."""
    if not node.below:
        return node.value or "{}"
    return ", ".join(f"{name}: {_as_text(below)}" for name, below in node.below.items())
