"""The rollouts of an audit log, reconstructed from its entries."""

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
    """A gate of a rollout as approved; ``asks`` is "" in records older than gates.

    ``asked`` counts devices and ``wrong`` those that it reported unhealthy, over every executed wave.
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

    ``failed`` maps devices to the cause, ``stopped`` is the reason for ending the rollout there, "" if it continued.
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
    """One rollout, refresh or removal (``action``), its ``entries`` in order."""

    name: str
    action: str
    entries: tuple[Mapping[str, Any], ...]
    by: str
    """Operators of all starts and continuations."""
    reason: str
    """Their reasons."""
    started: str
    manifest: str
    commit: str
    is_modified: bool
    """True where the spec's files differed from the commit."""
    end: str
    """``open`` without a recorded end: the rollout runs, or was killed."""
    waves: int
    waves_done: int
    failed: Mapping[str, str]
    """Failed devices with the cause, except those updated by a later wave or attempt."""
    duration_s: float
    devices: Mapping[str, int]
    """Devices of a refresh or removal by their result."""

    @property
    def answers(self) -> tuple[Mapping[str, str], ...]:
        """The overrides of all approvals: a continued rollout may have got another one."""
        answers = {}
        for answer in chain.from_iterable(approval["answers"] for approval in self._approvals):
            answers[answer["what"], answer["reason"], answer["who"]] = answer
        return tuple(answers.values())

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The waves in order of execution; a repeated one appears again.

        A record older than added waves names the layer of each wave only in its first line.
        """
        planned = self.entries[0]["waves"]
        return tuple(_attempt(entry, planned) for entry in self.entries if entry["event"] == "wave")

    @property
    def questions(self) -> tuple[GateRecord, ...]:
        """The gates of every approval, and those with answers, in the order of their execution."""
        gates = chain.from_iterable(entry.get("gates", ()) for entry in self._approvals)
        approved = {gate["gate"]: gate for gate in gates}
        answers_by_gate: dict[str, list[Mapping[str, Any]]] = {name: [] for name in approved}
        for gate, answer in chain.from_iterable(attempt.gates.items() for attempt in self.attempts):
            answers_by_gate.setdefault(gate, []).append(answer)
        records = []
        for name, answers in answers_by_gate.items():
            gate = approved.get(name, {"asks": "", "deadline_s": None, "budget": None})
            record = GateRecord(
                gate=name,
                asks=gate["asks"],
                deadline_s=gate["deadline_s"],
                budget=gate["budget"],
                asked=sum(answer["asked"] for answer in answers),
                wrong=sum(len(answer["wrong"]) for answer in answers),
            )
            records.append(record)
        return tuple(records)

    @property
    def warnings(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Warnings: the wave or the stack, the text, and the affected units."""
        units_by_warning: dict[tuple[str, str], list[str]] = {}
        for entry in self.entries:
            for place, body in _places_of_warnings(entry):
                for unit, lines in body.get("warnings", {}).items():
                    for line in lines:
                        units_by_warning.setdefault((place, line), []).append(unit)
        return tuple((place, line, tuple(units)) for (place, line), units in units_by_warning.items())

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """The gates left out by an approval, each with the reason."""
        skipped_gates = chain.from_iterable(entry.get("left_out", ()) for entry in self._approvals)
        return tuple(dict.fromkeys((gate["gate"], gate["why"]) for gate in skipped_gates))

    @property
    def _approvals(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(entry for entry in self.entries if entry["event"] in _APPROVED)


def _places_of_warnings(entry: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The wave of an entry, or its stacks, by name; warnings are recorded there."""
    if entry["event"] == "wave":
        return [(f"wave {entry['wave']}", entry)]
    if entry["event"] == "ended":
        return [(stack["stack"], stack) for stack in entry["stacks"]]
    return []


def rollouts(entries: Iterable[Mapping[str, Any]]) -> tuple[Rollout, ...]:
    """The rollouts in order of their beginning."""
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
