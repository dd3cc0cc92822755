"""Consequences of a change of a device's tree, by each platform for its own files."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree
from clusterwright.device_files.effect import Consequence, Effect, Effects, effect_table
from clusterwright.facts.reader import Unsupported
from clusterwright.hosts.linux import effects as linux
from clusterwright.plan.model import Device
from clusterwright.switches.registry import SYSTEMS


def effect_of(device: Device, before: DeviceTree, after: DeviceTree) -> Effect | None:
    """Effect of the change from one tree to the other on ``device``; None when the trees are equal."""
    return max((consequence.effect for consequence in consequences_of(device, before, after)), default=None)


def consequences_of(device: Device, before: DeviceTree, after: DeviceTree) -> tuple[Consequence, ...]:
    """Consequences for ``device`` of the change from one tree to the other, each once."""
    paths = {file.path for file in (*before, *after)}
    effects = linux.on_node if device.kind == "node" else _effects_on_switch(paths)
    consequences: dict[Consequence, None] = {}
    for path, was, will in _changed(before, after):
        # A change of the mode alone, or one that leaves the text's meaning, has no effect on the running system.
        path_consequences = effects(path, _content(was), _content(will))
        consequences.update(dict.fromkeys(path_consequences or (Consequence(Effect.LIVE, ""),)))
    return tuple(consequences)


def _effects_on_switch(paths: set[str]) -> Effects:
    """The effects of the system with a file among ``paths``; a system without effects restarts for every file."""
    for platform in SYSTEMS.values():
        if isinstance(platform.effects, Unsupported):
            continue
        table = effect_table(platform.system)
        if any(table.has_file(path) for path in paths):
            return platform.effects
    return linux.on_switch


def _content(artifact: Artifact | None) -> bytes | None:
    return None if artifact is None else artifact.content


def _changed(before: DeviceTree, after: DeviceTree) -> Iterator[tuple[str, Artifact | None, Artifact | None]]:
    old, new = {file.path: file for file in before}, {file.path: file for file in after}
    for path in sorted(old.keys() | new.keys()):
        was, will = old.get(path), new.get(path)
        if was is None or will is None or (was.sha256, was.mode) != (will.sha256, will.mode):
            yield path, was, will
