"""Effects of changes in FBOSS' files, by the different places (inventory/effects/fboss.yaml)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from clusterwright.device_files.effect import Consequence, Effect, effect_table, json_places
from clusterwright.hosts.linux import effects as linux
from clusterwright.switches.fboss.reader.configuration import BGP
from clusterwright.switches.fboss.reader.system import READER

_PEERS = "peers"


def effect(path: str, was: bytes | None, will: bytes | None) -> tuple[Consequence, ...]:
    """By the places of the agent's file; the BGP daemon's counts as one, unless only neighbours go."""
    if path not in (READER.file, BGP):
        return linux.on_switch(path, was, will)
    if was is None or will is None:
        return (Consequence(Effect.RESTART, "the program starts with a file that it did not have"),)
    before, after = json.loads(was), json.loads(will)
    places = _of_bgp(before, after) if path == BGP else json_places(before, after)
    return effect_table("fboss").consequences(path, places)


def _of_bgp(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    if before == after:
        return
    kept = after.get(_PEERS, [])
    drops = all(peer in before.get(_PEERS, []) for peer in kept)
    rest = {**before, _PEERS: []} == {**after, _PEERS: []}
    yield _PEERS if drops and rest else "the daemon's file"
