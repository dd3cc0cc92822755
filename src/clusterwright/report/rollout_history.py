"""The rollouts of an audit log, each put together from its entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout, its ``entries`` in order. ``end`` is ``open`` when none says how it ended: it runs, or was killed.

    ``failed`` maps devices to why they failed, without those that a later wave or attempt brought there.
    """

    name: str
    entries: tuple[Mapping[str, Any], ...]
    who: str
    host: str
    reason: str
    started: str
    manifest: str
    commit: str
    end: str
    waves: int
    waves_done: int
    failed: Mapping[str, str]
    duration_s: float


def rollouts(entries: Iterable[Mapping[str, Any]]) -> tuple[Rollout, ...]:
    """The rollouts in the order in which they began."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        found.setdefault(entry["rollout"], []).append(entry)
    return tuple(_rollout(name, tuple(own)) for name, own in found.items())


def _rollout(name: str, entries: tuple[Mapping[str, Any], ...]) -> Rollout:
    first, last = entries[0], entries[-1]
    waves = [entry for entry in entries if entry["event"] == "wave"]
    devices = {device: said for wave in waves for device, said in wave["devices"].items()}
    ended = [entry for entry in entries if entry["event"] == "ended"]
    seconds = sum(wave["duration_s"] for wave in waves)
    seconds += sum(stack["duration_s"] for entry in ended for stack in entry["stacks"])
    return Rollout(
        name=name,
        entries=entries,
        who=first["who"],
        host=first["host"],
        reason=first["reason"],
        started=first["at"],
        manifest=first["manifest"],
        commit=first["revision"]["commit"],
        end=last["end"] if last["event"] == "ended" else "open",
        waves=len(first["waves"]),
        waves_done=len({wave["wave"] for wave in waves if not wave["stopped"]}),
        failed={device: said for device, said in devices.items() if said != "ok"},
        duration_s=seconds,
    )
