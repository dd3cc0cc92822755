"""The rollouts of an audit log, each put together from its entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

_APPROVED = ("started", "resumed")
_KNOWN = {word: word for word in ("removed", "kept", "as given", "differs", "gone", "not known")}


@dataclass(frozen=True, slots=True)
class GateRecord:
    """A gate of a rollout as it was approved; ``asks`` is "" in a record that was written before gates were in it.

    ``asked`` counts devices and ``wrong`` those not well by it, over every wave that was gone through.
    """

    gate: str
    asks: str
    deadline_s: int | None
    budget: int | None
    asked: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One pass through a wave: ``gates`` are the answers of the gates after it, as recorded.

    ``failed`` maps devices to why they are not well, ``stopped`` is why the rollout ended there, "" where it went on.
    """

    number: int
    layer: str
    is_canary: bool
    devices: int
    failed: Mapping[str, str]
    gates: Mapping[str, Mapping[str, Any]]
    stopped: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout, refresh or removal (``action``), its ``entries`` in order.

    ``end`` is ``open`` when none says how it ended: it runs, or was killed. ``failed`` maps devices to why they failed,
    without those that a later wave or attempt brought there. ``by`` and ``reason`` are those of everybody who started
    it or had it go on. ``devices`` counts those that a refresh or removal was about, by what was found on them or
    became of them.
    """

    name: str
    action: str
    entries: tuple[Mapping[str, Any], ...]
    by: str
    reason: str
    started: str
    manifest: str
    commit: str
    is_modified: bool
    """True where the spec's files differed from the commit."""
    end: str
    waves: int
    waves_done: int
    failed: Mapping[str, str]
    duration_s: float
    devices: Mapping[str, int]

    @property
    def answers(self) -> tuple[Mapping[str, str], ...]:
        """The overrides of all approvals: a rollout that went on may have got another one."""
        every = chain.from_iterable(approval["answers"] for approval in self._approvals)
        return tuple({(answer["what"], answer["reason"], answer["who"]): answer for answer in every}.values())

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The waves in the order in which they were gone through; one that was done again is there again.

        A record written before waves could be added says in its first line alone of which layer each one is.
        """
        planned = self.entries[0]["waves"]
        return tuple(_attempt(entry, planned) for entry in self.entries if entry["event"] == "wave")

    @property
    def questions(self) -> tuple[GateRecord, ...]:
        """The gates of every approval, and those that answered, in the order in which they are asked."""
        gates = chain.from_iterable(entry.get("gates", ()) for entry in self._approvals)
        known = {gate["gate"]: gate for gate in gates}
        answers = list(chain.from_iterable(attempt.gates.items() for attempt in self.attempts))
        nothing = {"asks": "", "deadline_s": None, "budget": None}
        return tuple(
            GateRecord(
                name,
                **{field: known.get(name, nothing)[field] for field in nothing},
                asked=sum(answer["asked"] for gate, answer in answers if gate == name),
                wrong=sum(len(answer["wrong"]) for gate, answer in answers if gate == name),
            )
            for name in dict.fromkeys((*known, *(name for name, _ in answers)))
        )

    @property
    def warnings(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Warnings: the wave or the stack, the text, and the units that it is about."""
        warnings_by_place: dict[tuple[str, str], list[str]] = {}
        for entry in self.entries:
            places = [(f"wave {entry['wave']}", entry)] if entry["event"] == "wave" else []
            places += [(stack["stack"], stack) for stack in entry["stacks"]] if entry["event"] == "ended" else []
            for where, body in places:
                for unit, lines in body.get("warnings", {}).items():
                    for line in lines:
                        warnings_by_place.setdefault((where, line), []).append(unit)
        return tuple((where, line, tuple(units)) for (where, line), units in warnings_by_place.items())

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """The gates that an approval left out, each with why."""
        skipped_gates = chain.from_iterable(entry.get("left_out", ()) for entry in self._approvals)
        return tuple(dict.fromkeys((gate["gate"], gate["why"]) for gate in skipped_gates))

    @property
    def _approvals(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(entry for entry in self.entries if entry["event"] in _APPROVED)


def rollouts(entries: Iterable[Mapping[str, Any]]) -> tuple[Rollout, ...]:
    """The rollouts in the order in which they began."""
    entries_by_name: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        entries_by_name.setdefault(entry["rollout"], []).append(entry)
    return tuple(_rollout(name, tuple(listed)) for name, listed in entries_by_name.items())


def _rollout(name: str, entries: tuple[Mapping[str, Any], ...]) -> Rollout:
    first, last = entries[0], entries[-1]
    approvals = [entry for entry in entries if entry["event"] in _APPROVED]
    planned = approvals[-1]["waves"]
    waves = [entry for entry in entries if entry["event"] == "wave"]
    devices = dict(chain.from_iterable(wave["devices"].items() for wave in waves))
    ended = [entry for entry in entries if entry["event"] == "ended"]
    changes = [entry for entry in entries if entry["event"] == "stack"]
    results = chain.from_iterable(entry["devices"].values() for entry in changes)
    about = Counter(_KNOWN.get(result, "failed") for result in results)
    seconds = sum(wave["duration_s"] for wave in waves)
    stacks = chain.from_iterable(entry["stacks"] for entry in ended)
    seconds += sum(stack["duration_s"] for stack in stacks)
    return Rollout(
        name=name,
        action=first.get("action", "up"),
        entries=entries,
        by=_listed(f"{entry['who']}@{entry['host']}" for entry in approvals),
        reason=_listed(entry["reason"] for entry in approvals),
        started=first["at"],
        manifest=first["manifest"],
        commit=first["revision"]["commit"],
        is_modified=first["revision"]["is_modified"],
        end=last["end"] if last["event"] == "ended" else "open",
        waves=max(len(planned), *(wave["wave"] for wave in waves), 0),
        waves_done=len({wave["wave"] for wave in waves if not wave["stopped"]}),
        failed={device: result for device, result in devices.items() if result != "ok"},
        duration_s=seconds,
        devices=dict(sorted(about.items())),
    )


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text))


def _attempt(entry: Mapping[str, Any], planned: Sequence[Mapping[str, Any]]) -> Attempt:
    wave = entry if "layer" in entry else planned[entry["wave"] - 1]
    return Attempt(
        number=entry["wave"],
        layer=wave["layer"],
        is_canary=wave["is_canary"],
        devices=len(entry["devices"]),
        failed={device: result for device, result in entry["devices"].items() if result != "ok"},
        gates={gate["gate"]: gate for gate in entry.get("gates", ())},
        stopped=entry["stopped"],
        duration_s=entry["duration_s"],
    )
