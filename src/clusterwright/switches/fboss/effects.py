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
    places = _bgp_places(before, after) if path == BGP else json_places(before, after)
    return effect_table("fboss").consequences(path, places)


def _bgp_places(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """``peers`` if peers are removed and nothing else changes, the whole file for any other change."""
    if before == after:
        return
    peers_before, peers_after = before.get(_PEERS, []), after.get(_PEERS, [])
    has_new_peers = any(peer not in peers_before for peer in peers_after)
    is_same_beside_peers = {**before, _PEERS: []} == {**after, _PEERS: []}
    if is_same_beside_peers and not has_new_peers:
        yield _PEERS
    else:
        yield "the daemon's file"
