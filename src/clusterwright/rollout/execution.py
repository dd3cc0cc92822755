"""Carry out an update: wave by wave on running devices, a whole stack at a time if nothing runs yet.

After each wave its devices are checked; more failures than the budget allows stop the rollout, and finished waves stay
recorded. Failed devices within the budget without their trees are tried once more, in waves of their own. The last
step over every stack covers the rest: new stacks, and devices no longer in the spec.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.automation import Engine, Ran
from clusterwright.deploy.pulumi.events import Event, EventKind, Listener
from clusterwright.deploy.pulumi.order import drive_stacks
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.units import UPPER, Stack
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout import ledger
from clusterwright.rollout.gates.health import Checked, Gate, ask, look
from clusterwright.rollout.ledger import UnderWay
from clusterwright.rollout.prepare import Prepared
from clusterwright.rollout.stack_change import UnitReports
from clusterwright.rollout.waves import Wave

_MOST_NOTES = 5  # printed notes of a gate; the record has all


class UpdateEnd(Enum):
    """End of an update."""

    DONE = "done"
    PAUSED = "paused"
    STOPPED = "stopped"  # more failures than the budget allows, or a stack that could not be driven
    ABORTED = "aborted"  # by its operator


@dataclass(frozen=True, slots=True)
class WaveResult:
    """The result of a wave: ``failed`` are the devices without their tree or with a failed check, with the reason.

    ``checked`` are the answers of the gates, ``reason`` is the reason for stopping the rollout here, "" if it goes on.
    ``warned`` are the warnings about units, as about a lost execution node and its replacement.
    """

    number: int
    wave: Wave
    failed: Mapping[str, str]
    duration_s: float
    reason: str = ""
    checked: tuple[Checked, ...] = ()
    warned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an update. ``text`` is the reason of an early end.

    ``warned`` are the warnings about units of ``stacks``, as in ``WaveResult``.
    """

    end: UpdateEnd
    waves: tuple[WaveResult, ...]
    stacks: tuple[Ran, ...]
    text: str = ""
    warned: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Orders:
    """Options of the operator: ``pause_after`` are waves, ``budget`` is devices a wave, ``at_once`` is stacks.

    ``is_aborted`` is called before anything new is started; ``goes_on`` before each wave of an interactive rollout.
    ``again`` plans waves for devices to be tried once more, by the effect on them. With more than
    ``first_budget_percent`` of a stack's devices failed in its first update, no other stack is started.
    """

    budget: int
    at_once: int
    first_budget_percent: float = 0
    pause_after: frozenset[int] = frozenset()
    is_aborted: Callable[[], bool] = lambda: False
    goes_on: Callable[[int, Wave], bool] = lambda _number, _wave: True
    again: Callable[[Mapping[str, Effect]], tuple[Wave, ...]] = lambda _effects: ()


@dataclass(slots=True)
class Execution:
    """Carries out one update; ``note`` is called with each wave's result for the record.

    Failures of devices are part of the result and raise no exception.
    """

    root: Path
    engine: Engine
    prepared: Prepared
    orders: Orders
    gates: tuple[Gate, ...]
    listen: Listener
    note: Callable[[WaveResult], None] = lambda _result: None
    _waves: list[WaveResult] = field(default_factory=list)
    _stacks: list[Ran] = field(default_factory=list)
    _warned: dict[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)  # by stack updated as a whole
    _untaken: dict[str, Effect] = field(default_factory=dict)  # effects on devices without their trees
    _lacking: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by new stack, devices without their tree

    def run(self) -> Result:
        """Carry out the rest of the rollout.

        Raises ClusterwrightError if no device can be queried or no result recorded.
        """
        rollout = replace(self.prepared.rollout, paused="")
        ledger.save(self.root, rollout)
        end, text = self._run(rollout)
        if end is UpdateEnd.DONE:
            ledger.clear(self.root)
        return Result(end=end, waves=tuple(self._waves), stacks=tuple(self._stacks), text=text, warned=self._warned)

    def _run(self, rollout: UnderWay) -> tuple[UpdateEnd, str]:
        # A new layer above the pods goes before the waves of the pods, which depend on it.
        new_upper = [stack for stack in self.prepared.stacks if stack.layer == UPPER and self._is_first(stack)]
        rest = [stack for stack in self.prepared.stacks if stack not in new_upper]
        if self.prepared.only:
            rest = []
        stopped = self._whole(new_upper) or self._all_waves(rollout) or self._whole(rest)
        if stopped:
            return stopped
        lacking = sorted(chain.from_iterable(self._lacking.values()))
        if lacking:
            return UpdateEnd.STOPPED, f"all others were brought up; {_without_tree(lacking)}"
        return UpdateEnd.DONE, ""

    def _all_waves(self, rollout: UnderWay) -> tuple[UpdateEnd, str] | None:
        """Run the remaining waves, then further ones for failed devices within the budget."""
        rollout, stopped = self._waves_of(rollout)
        if stopped or not self._untaken:
            return stopped
        rollout = rollout.with_more(self.orders.again(self._untaken))
        ledger.save(self.root, rollout)
        _, stopped = self._waves_of(rollout)
        if stopped or not self._untaken:
            return stopped
        return UpdateEnd.STOPPED, _without_tree(sorted(self._untaken))

    def _is_first(self, stack: Stack) -> bool:
        return stack.name in self.prepared.first

    def _whole(self, stacks: list[Stack]) -> tuple[UpdateEnd, str] | None:
        stacks = [stack for stack in stacks if stack.name not in self.prepared.settled]
        ran = drive_stacks(
            stacks, self._update, self.orders.at_once, is_stopped=self.orders.is_aborted, allows=self._allows
        )
        self._stacks += ran
        failed = [result.stack for result in ran if not self._allows(result)]
        if failed:
            lacking = list(chain.from_iterable(self._lacking.get(stack, ()) for stack in failed))
            more = f"; {_without_tree(lacking)}" if lacking else ""
            return UpdateEnd.STOPPED, f"{', '.join(failed)} failed{more}"
        if len(ran) < len(stacks):
            started = {result.stack for result in ran}
            unstarted = [stack.name for stack in stacks if stack.name not in started]
            return UpdateEnd.ABORTED, f"not started: {', '.join(unstarted)}"
        return None

    def _allows(self, ran: Ran) -> bool:
        """Whether other stacks go on after this one: without failures, or with few enough devices of a new stack."""
        if ran.ok:
            return True
        stack = next(stack for stack in self.prepared.stacks if stack.name == ran.stack)
        if not self._is_first(stack):
            return False
        trees = self.prepared.manifests[stack.name].trees
        if stack.name not in self._lacking:
            try:
                given = self.engine.given(stack)
            except ClusterwrightError:  # without the state, no device is known to have its tree
                return False
            self._lacking[stack.name] = tuple(name for name in sorted(trees) if not _took(name, trees, given))
        allowed = max(1, int(len(trees) * self.orders.first_budget_percent / 100))
        return 0 < len(self._lacking[stack.name]) <= allowed

    def _update(self, stack: Stack) -> Ran:
        ran, self._warned[stack.name] = self._run_stack(stack)
        return ran

    def _run_stack(self, stack: Stack, units: tuple[str, ...] = ()) -> tuple[Ran, Mapping[str, tuple[str, ...]]]:
        """The engine's result for a stack, or some of its units, and the warnings about units meanwhile."""
        warnings = UnitReports("warning")

        def on_event(event: Event) -> None:
            warnings(event)
            self.listen(event)

        manifest = self.prepared.manifests[stack.name]
        ran = self.engine.run("up", stack, on_event, units, manifest, tries_all=self._is_first(stack))
        return ran, warnings.of(stack.name)

    def _waves_of(self, rollout: UnderWay) -> tuple[UnderWay, tuple[UpdateEnd, str] | None]:
        for number, wave in rollout.left:
            following = f"wave {number} of {len(rollout.waves)} is next"
            if self.orders.is_aborted():
                return rollout, (UpdateEnd.ABORTED, following)
            if not self.orders.goes_on(number, wave):
                return rollout, self._pause(rollout, following)
            result = self._wave(number, wave, len(rollout.waves))
            self._waves.append(result)
            self.note(result)
            if result.reason:
                end = UpdateEnd.ABORTED if self.orders.is_aborted() else UpdateEnd.STOPPED
                return rollout, (end, result.reason)
            rollout = rollout.with_finished(number)
            ledger.save(self.root, rollout)
            if number in self.orders.pause_after and rollout.left:
                return rollout, self._pause(rollout, f"wave {rollout.left[0][0]} of {len(rollout.waves)} is next")
        return rollout, None

    def _pause(self, rollout: UnderWay, text: str) -> tuple[UpdateEnd, str]:
        ledger.save(self.root, replace(rollout, paused=text))
        return UpdateEnd.PAUSED, text

    def _wave(self, number: int, wave: Wave, waves: int) -> WaveResult:
        stack = next(stack for stack in self.prepared.stacks if stack.layer == wave.layer)
        manifest = self.prepared.manifests[stack.name]
        about = {"wave": number, "waves": waves, "layer": wave.layer}
        effect = wave.effect.name.lower()
        text = f"wave {number} of {waves}: {len(wave.units)} {wave.kind} of {wave.layer}, {effect}"
        details = {**about, "effect": effect, "devices": list(wave.devices)}
        self.listen(Event(EventKind.WAVE_STARTED, stack.name, text=text, details=details))
        started = time.monotonic()
        try:
            before = look(self.gates, wave)
        except (ClusterwrightError, KeyboardInterrupt) as error:
            cause = str(error) or "interrupted while it was waited for"
            result = WaveResult(
                number=number,
                wave=wave,
                failed=dict.fromkeys(wave.devices, "was not started"),
                duration_s=time.monotonic() - started,
                reason=f"the wave was not started: {cause}",
            )
        else:
            ran, warned = self._run_stack(stack, wave.units)
            trees = {name: manifest.trees[name] for name in wave.devices}
            checked, failed, reason = self._check(stack, wave, trees, ran, before)
            result = WaveResult(
                number=number,
                wave=wave,
                failed=failed,
                duration_s=time.monotonic() - started,
                reason=reason,
                checked=checked,
                warned=warned,
            )
        self.listen(_finished(stack, result, about))
        return result

    def _check(
        self, stack: Stack, wave: Wave, trees: Mapping[str, str], ran: Ran, before: Sequence[Any]
    ) -> tuple[tuple[Checked, ...], dict[str, str], str]:
        """Answers of the gates, the failed devices, and the reason for stopping the rollout ("" if it goes on)."""
        unchecked = dict.fromkeys(trees, "was not asked whether it is well")
        try:
            given = self.engine.given(stack)
            failed = {}
            for name in trees:
                if not _took(name, trees, given):
                    failed[name] = given.failed.get(name, "was not reached")
            unchecked |= failed
            self._untaken = {name: effect for name, effect in self._untaken.items() if name not in trees}
            self._untaken |= dict.fromkeys(failed, wave.effect)
            taken_trees = {name: digest for name, digest in trees.items() if name not in failed}
            checked, unwell = ask(self.gates, wave, taken_trees, before)
        except ClusterwrightError as error:
            return (), unchecked, f"wave cannot be checked: {error}"
        except KeyboardInterrupt:
            return (), unchecked, "interrupted while gates queried the devices"
        failed |= unwell
        if not ran.ok and not failed:
            return checked, failed, ran.reason
        if len(failed) > self.orders.budget:
            return checked, failed, f"{len(failed)} devices of the wave failed, {self.orders.budget} are allowed"
        for gate, gate_result in zip(self.gates, checked, strict=True):
            count = len(gate_result.answer.wrong)
            if gate.budget is not None and count > gate.budget:
                return checked, failed, f"{count} devices failed the gate {gate.name}, {gate.budget} are allowed"
        return checked, failed, ""


def _without_tree(names: Sequence[str]) -> str:
    return (
        f"deployment failed on {and_more(names, 10)}. To continue without an unreachable device, add an exception with "
        "`state: out-of-service` to the spec"
    )


def _took(name: str, trees: Mapping[str, str], given: RecordedStack) -> bool:
    return given.trees.get(name) == trees[name] and name not in given.failed


def _finished(stack: Stack, result: WaveResult, about: Mapping[str, object]) -> Event:
    kind = EventKind.WAVE_FAILED if result.reason else EventKind.WAVE_FINISHED
    text = "\n".join(_lines(result))
    details: dict[str, Any] = dict(about)
    if result.failed:
        details["failed"] = dict(result.failed)
    if result.checked:
        details["gates"] = [
            {"gate": gate_result.gate, "asked": gate_result.answer.asked, "wrong": len(gate_result.answer.wrong)}
            for gate_result in result.checked
        ]
    severity = "error" if result.reason else ""
    return Event(kind, stack.name, severity=severity, text=text, duration_s=result.duration_s, details=details)


def _lines(result: WaveResult) -> Iterator[str]:
    well = len(result.wave.devices) - len(result.failed)
    yield f"wave {result.number}: {well} of {len(result.wave.devices)} devices are well ({result.duration_s:.1f} s)"
    for gate_result in result.checked:
        gate, answer = gate_result.gate, gate_result.answer
        if answer.asked:
            yield f"    {gate}: {answer.asked} asked, {len(answer.wrong)} not well ({gate_result.duration_s:.1f} s)"
        yield from (f"    reported by {gate}: {line}" for line in answer.notes[:_MOST_NOTES])
    yield from (f"    {name}: {reason}" for name, reason in sorted(result.failed.items()))
    if result.reason:
        yield f"    stopped: {result.reason}"
