"""Effects of changes in NVUE's file, by the different objects (inventory/effects/nvue.yaml)."""

from __future__ import annotations

from clusterwright.device_files.effect import BETWEEN, Consequence, Effect, effect_table
from clusterwright.hosts.linux import effects as linux
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.nvue.reader.configuration import PATH


def effect(path: str, was: bytes | None, will: bytes | None) -> tuple[Consequence, ...]:
    """By the different objects; a file added or removed counts as a restart."""
    if path != PATH:
        return linux.on_switch(path, was, will)
    if was is None or will is None:
        return (Consequence(Effect.RESTART, "everything is set up anew"),)
    drifts = compare_nvue(was.decode("utf-8", "replace"), will.decode("utf-8", "replace"))
    return effect_table("nvue").consequences(path, (BETWEEN.join(place) for *_, place, _ in drifts))
