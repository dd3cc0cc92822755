"""Comparing JSON by path: FBOSS's agent and BGP configuration, SONiC's config_db."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from clusterwright.device_files.drift import Difference, FileDifference, as_text, is_as_planned

# Fields that identify an entry of a list; the first one common to all entries is used.
_NAMES = ("name", "logicalID", "intfID", "id", "peer_addr", "prefix")


def compare_json(planned: str, runs: str) -> Iterator[FileDifference]:
    """Compare values by their paths, and entries of lists by name if they have one. Raises ValueError."""
    yield from _values(json.loads(planned), json.loads(runs), ())


def _values(planned: Any, runs: Any, path: tuple[str, ...]) -> Iterator[FileDifference]:
    if isinstance(planned, dict) and isinstance(runs, dict):
        yield from _members(planned, runs, path, "")
        return
    if isinstance(planned, list) and isinstance(runs, list):
        name = _common_name(planned, runs)
        if name is not None:
            yield from _members(_by(name, planned), _by(name, runs), path, name)
            return
    if planned == runs:
        return
    if isinstance(planned, str) and isinstance(runs, str) and is_as_planned(planned, runs):
        return
    yield Difference.CHANGED, _shown(path), as_text(planned), as_text(runs), path, runs


def _common_name(planned: list[Any], runs: list[Any]) -> str | None:
    """The field that identifies the entries of both lists; None without one."""
    for name in _NAMES:
        if _is_unique(name, planned) and _is_unique(name, runs):
            return name
    return None


def _members(
    planned: dict[str, Any], runs: dict[str, Any], path: tuple[str, ...], name: str
) -> Iterator[FileDifference]:
    for key, value in planned.items():
        member_path = (*path, f"[{name}={key}]" if name else key)
        if key not in runs:
            yield Difference.MISSING, _shown(member_path), as_text(value), "", member_path, None
        else:
            yield from _values(value, runs[key], member_path)
    for key, value in runs.items():
        if key not in planned:
            member_path = (*path, f"[{name}={key}]" if name else key)
            yield Difference.UNEXPECTED, _shown(member_path), "", as_text(value), member_path, value


def _is_unique(name: str, entries: list[Any]) -> bool:
    """Whether every entry has a value of its own in the field ``name``."""
    if not entries or not all(isinstance(entry, dict) and name in entry for entry in entries):
        return False
    return len({as_text(entry[name]) for entry in entries}) == len(entries)


def _by(name: str, entries: list[Any]) -> dict[str, Any]:
    return {str(entry[name]): entry for entry in entries}


def _shown(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path).replace("/[", "[")
