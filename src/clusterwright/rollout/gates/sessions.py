"""The gate of BGP: sessions of a wave's switches, read from both ends before and after the wave.

The plan has the expected sessions; a session down before and after the wave is noted and does not count, nor does a new
session with its other end changed in a later wave.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from clusterwright.and_more import and_more
from clusterwright.deploy.ansible.query import CommandResult, RemoteCommand
from clusterwright.deploy.target import Unreachable
from clusterwright.facts.reader import Unsupported
from clusterwright.intent.switch_links import links_of
from clusterwright.intent.switch_sessions import sessions_of
from clusterwright.rollout.gates.health import DeviceGate, GateAnswer, until_well
from clusterwright.rollout.waves import Wave
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.switch_system import SessionsProbe

_LIMIT_S = 30
_ESTABLISHED = "Established"
_SHOWN = 3

States = Mapping[str, str]
"""State of each session of a switch, by the neighbour's address."""


class ExpectedSession(NamedTuple):
    """One end of a session: ``device`` with its ``neighbour`` at the address ``remote``."""

    device: str
    remote: str
    neighbour: str


@dataclass(frozen=True)
class Sessions(DeviceGate):
    """See the module. ``waves`` are those of the whole rollout, in order."""

    waves: tuple[Wave, ...]
    name: str = "sessions"

    def question(self) -> str:
        """See ``Gate``."""
        return (
            "BGP sessions of changed switches, read from them and their neighbours, are back within "
            f"{self.policy.deadline_s} s"
        )

    def before(self, wave: Wave) -> Mapping[str, States | str]:
        """States of every session on the changed switches and their neighbours, or the reason for none."""
        return self._read({end.device for end in self._ends(wave.devices)})

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        changed = [name for name in trees if any(self._sessions(name))]
        later = self._later(wave)
        notes: dict[str, None] = {}

        def complaints(names: Sequence[str]) -> Mapping[str, str]:
            ends = {name: tuple(self._ends([name])) for name in names}
            now = self._read({end.device for end in chain.from_iterable(ends.values())})
            wrong: dict[str, str] = {}
            notes.clear()
            for name, session_ends in ends.items():
                down, excused = _compare(name, session_ends, before, now, later)
                if not session_ends:
                    excused = [f"{name}: no device can be queried for its BGP sessions"]
                notes.update(dict.fromkeys(excused))
                if down:
                    count = f"{len(down)} of {len(session_ends)} ends of its BGP sessions are not established"
                    wrong[name] = f"{count}: {and_more(down, _SHOWN)}"
            return wrong

        wrong = until_well(changed, self.policy.deadline_s, complaints)
        return GateAnswer(len({end.device for end in self._ends(changed)}), wrong, tuple(notes))

    def _later(self, wave: Wave) -> frozenset[str]:
        index = self.waves.index(wave) if wave in self.waves else len(self.waves)
        return frozenset(chain.from_iterable(wave.devices for wave in self.waves[index + 1 :]))

    def _ends(self, names: Iterable[str]) -> Iterator[ExpectedSession]:
        """Both ends of every session of these switches, as far as they can be queried."""
        for name in names:
            for ends in self._sessions(name):
                for end in ends:
                    if end.device in self._askable:
                        yield end

    def _sessions(self, name: str) -> Iterator[tuple[ExpectedSession, ExpectedSession]]:
        """The sessions of a switch, each by its own end and its neighbour's."""
        device = self.plan.by_name.get(name)
        if device is None or device.kind != "switch" or device.asn is None or device.state == "out-of-service":
            return
        for session in sessions_of(self.plan, device, links_of(self.plan, device)):
            yield (
                ExpectedSession(name, session.remote, session.neighbour),
                ExpectedSession(session.neighbour, session.local, name),
            )

    @cached_property
    def _askable(self) -> frozenset[str]:
        return frozenset(device.name for device in self.plan.devices if self._probe(device.name) is not None)

    def _probe(self, name: str) -> SessionsProbe | None:
        """The query for a switch; None for one that cannot be queried."""
        device = self.plan.by_name[name]
        platform = SYSTEMS.get(self.plan.spec.catalogue[device.model].network_os or "")
        if device.kind != "switch" or platform is None or isinstance(platform.probes.sessions, Unsupported):
            return None
        probe = platform.probes.sessions
        reachable = self.devices.over_eapi if probe.is_eapi else self.devices.over_ssh
        return probe if name in reachable else None

    def _read(self, names: Iterable[str]) -> dict[str, States | str]:
        probes = {name: probe for name in sorted(names) if (probe := self._probe(name)) is not None}
        answers: dict[str, Any] = {}
        for command in {probe.command[0] for probe in probes.values() if probe.is_eapi}:
            asked = [name for name, probe in probes.items() if probe.is_eapi and probe.command[0] == command]
            answers |= self.devices.show(asked, command)
        ssh_probes = {name: probe for name, probe in probes.items() if not probe.is_eapi}
        answers |= self.devices.run(
            {name: RemoteCommand(probe.command, _LIMIT_S) for name, probe in ssh_probes.items()}
        )
        return {name: read_states(probes[name], answer) for name, answer in answers.items()}


def read_states(probe: SessionsProbe, answer: Any) -> States | str:
    """State of each session of a switch, or the reason for none: JSON over eAPI, else a ``CommandResult``."""
    if isinstance(answer, Unreachable):
        return answer.message
    try:
        if probe.is_eapi:
            return dict(probe.states(answer))
        if isinstance(answer, CommandResult) and answer.status != 0:
            return answer.said
        return dict(probe.states(json.loads(answer.output)))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return f"its BGP answer cannot be read ({type(error).__name__}: {error})"


def _compare(
    name: str,
    ends: Iterable[ExpectedSession],
    before: Mapping[str, States | str],
    now: Mapping[str, States | str],
    later: frozenset[str],
) -> tuple[list[str], list[str]]:
    """Complaints about a changed switch, and excuses: each end of its sessions that is not established."""
    down: list[str] = []
    excused: list[str] = []
    for end in ends:
        is_own = end.device == name
        states, states_before = now[end.device], before.get(end.device, "")
        where = f"{end.neighbour} {end.remote}" if is_own else f"{end.device} sees {end.remote}"
        if isinstance(states, str):
            if is_own or isinstance(states_before, Mapping):
                complaint = f"{end.device} does not say: {states}"
                if complaint not in down:
                    down.append(complaint)
            else:
                excused.append(f"{end.device} could not be queried for its sessions: {states}")
            continue
        state = states.get(end.remote, "absent")
        if state == _ESTABLISHED:
            continue
        state_before = _ESTABLISHED
        if isinstance(states_before, Mapping):
            state_before = states_before.get(end.remote, "absent")
        neighbour = end.neighbour if is_own else end.device
        if state_before not in (_ESTABLISHED, "absent"):
            excused.append(f"{end.device} to {end.neighbour} {end.remote} was {state_before} before and is {state}")
        elif state_before == "absent" and neighbour in later:
            excused.append(f"{end.device} to {end.neighbour} {end.remote} waits for a later wave")
        else:
            down.append(f"{where} is {state}")
    return down, excused
