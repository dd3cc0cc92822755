"""What changes of FBOSS' files do.

The agent reads its file again while it runs and applies what differs (``fboss2 config reload``, SwSwitch::applyConfig);
the BGP daemon has no reload, restarts, and comes back gracefully.
"""

from __future__ import annotations

import json
from typing import Any

from clusterwright.platforms.effect import Effect
from clusterwright.platforms.fboss.reader.configuration import BGP
from clusterwright.platforms.fboss.reader.system import READER
from clusterwright.platforms.linux import effects as linux

_OF_A_PORT = ("description", "state")
_PEERS = "peers"


def effect(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """A port that is wanted no more and a peer that goes are live: neighbours keep what a graceful restart protects."""
    if path not in (READER.file, BGP):
        return linux.on_switch(path, was, will)
    if was is None or will is None:
        return Effect.RESTART
    before, after = json.loads(was), json.loads(will)
    is_live = _drops_peers(before, after) if path == BGP else _names_ports(before, after)
    return Effect.LIVE if is_live else Effect.RESTART


def _names_ports(before: dict[str, Any], after: dict[str, Any]) -> bool:
    for document in (before, after):
        document["sw"]["ports"] = [
            {key: value for key, value in port.items() if key not in _OF_A_PORT} for port in document["sw"]["ports"]
        ]
    return before == after


def _drops_peers(before: dict[str, Any], after: dict[str, Any]) -> bool:
    kept = after.pop(_PEERS, [])
    return all(peer in before.get(_PEERS, []) for peer in kept) and {**before, _PEERS: []} == {**after, _PEERS: []}
