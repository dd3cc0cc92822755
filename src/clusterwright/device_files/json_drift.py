"""Comparing JSON by path: FBOSS's agent and BGP configuration, SONiC's config_db."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from clusterwright.device_files.drift import Difference, Found, as_text, is_as_planned

# By which of its fields an entry of a list is told from the others, the first that all of them have.
_NAMES = ("name", "logicalID", "intfID", "id", "peer_addr", "prefix")


def compare_json(planned: str, runs: str) -> Iterator[Found]:
    """Values by their paths; entries of lists by name where they have one. Raises ValueError."""
    yield from _values(json.loads(planned), json.loads(runs), ())


def _values(planned: Any, runs: Any, path: tuple[str, ...]) -> Iterator[Found]:
    if isinstance(planned, dict) and isinstance(runs, dict):
        yield from _members(planned, runs, path, "")
        return
    if isinstance(planned, list) and isinstance(runs, list):
        name = next((name for name in _NAMES if _tells_apart(name, planned) and _tells_apart(name, runs)), None)
        if name is not None:
            yield from _members(_by(name, planned), _by(name, runs), path, name)
            return
    if planned != runs and not (isinstance(planned, str) and isinstance(runs, str) and is_as_planned(planned, runs)):
        yield Difference.CHANGED, _shown(path), as_text(planned), as_text(runs), path, runs


def _members(planned: dict[str, Any], runs: dict[str, Any], path: tuple[str, ...], name: str) -> Iterator[Found]:
    for key, value in planned.items():
        here = (*path, f"[{name}={key}]" if name else key)
        if key not in runs:
            yield Difference.MISSING, _shown(here), as_text(value), "", here, None
        else:
            yield from _values(value, runs[key], here)
    for key, value in runs.items():
        if key not in planned:
            here = (*path, f"[{name}={key}]" if name else key)
            yield Difference.UNEXPECTED, _shown(here), "", as_text(value), here, value


def _tells_apart(name: str, entries: list[Any]) -> bool:
    if not entries or not all(isinstance(entry, dict) and name in entry for entry in entries):
        return False
    return len({as_text(entry[name]) for entry in entries}) == len(entries)


def _by(name: str, entries: list[Any]) -> dict[str, Any]:
    return {str(entry[name]): entry for entry in entries}


def _shown(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path).replace("/[", "[")
