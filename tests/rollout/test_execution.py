"""Carrying waves out: budgets, pauses, aborts, and what is noted for the next run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from clusterwright.deploy.pulumi.automation import Engine, Ran
from clusterwright.deploy.pulumi.events import Event, EventKind, Listener
from clusterwright.deploy.pulumi.manifest import Manifest, ManifestUnit
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.units import Stack, Unit
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout import ledger
from clusterwright.rollout.execution import Execution, Orders, Result, UpdateEnd
from clusterwright.rollout.gates.health import Gate, GateAnswer
from clusterwright.rollout.ledger import UnderWay
from clusterwright.rollout.prepare import Prepared
from clusterwright.rollout.waves import Wave

RACKS = ("r0", "r1", "r2")


def stack_of(layer: str, racks: tuple[str, ...]) -> Stack:
    units = tuple(Unit(rack, "rack", layer, (f"{rack}n0", f"{rack}n1")) for rack in racks)
    return Stack(f"c-{layer}", layer, layer, units)


def manifest_of(stack: Stack) -> Manifest:
    units = tuple(ManifestUnit(unit.name, unit.kind, dict.fromkeys(unit.devices, "new")) for unit in stack.units)
    return Manifest("c", stack.name, stack.layer, stack.pod, units)


def wave_of(rack: str) -> Wave:
    return Wave("pod0", "rack", rack == "r0", (rack,), (f"{rack}n0", f"{rack}n1"), Effect.LIVE, (), 1.0, "", "", "")


@dataclass
class Recorder:
    """Stands where the engine stands: keeps what each device was given.

    Devices in ``refuse`` take nothing, the first ``times`` times. About each unit in ``warns`` something is said.
    """

    refuse: frozenset[str] = frozenset()
    times: int = 99
    warns: frozenset[str] = frozenset()
    trees: dict[str, str] = field(default_factory=dict)
    runs: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def run(
        self,
        action: str,
        stack: Stack,
        listen: Listener,
        units: Collection[str] = (),
        manifest: Manifest | None = None,
        *,
        tries_all: bool = False,
    ) -> Ran:
        assert (action, manifest) == ("up", manifest_of(stack))
        self.runs.append((stack.name, tuple(units)))
        chosen = [unit for unit in stack.units if unit.name in units or not units]
        for unit in (each for each in chosen if each.name in self.warns):
            listen(Event(EventKind.MESSAGE, stack.name, unit.name, "rack", severity="info", text="a line of a diff"))
            listen(
                Event(EventKind.MESSAGE, stack.name, unit.name, "rack", severity="warning", text="done by b: a is lost")
            )
        touched = {name for unit in chosen for name in unit.devices}
        refused = touched & self.refused
        self.times -= bool(refused)
        self.trees |= dict.fromkeys(touched - refused, "new")
        return Ran(stack.name, not refused, {}, 0.1, "")

    @property
    def refused(self) -> frozenset[str]:
        return self.refuse if self.times > 0 else frozenset()

    def given(self, stack: Stack) -> RecordedStack:
        return RecordedStack(self.trees, {name: "failed, full disk" for name in self.refuse if name not in self.trees})


@dataclass(frozen=True)
class Sick:
    """A gate by which the devices in ``unwell`` are not well; one that ``cannot`` be asked says so."""

    unwell: Mapping[str, str]
    budget: int | None = None
    cannot: str = ""
    name: str = "sick"
    deadline_s: int | None = None

    def question(self) -> str:
        return "nobody is sick"

    def before(self, wave: Wave) -> str:
        if self.cannot:
            raise ClusterwrightError(self.cannot)
        return wave.units[0]

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        assert before == wave.units[0], "what was seen before this very wave"
        return GateAnswer(len(trees), {name: why for name, why in self.unwell.items() if name in trees})


def execute(
    root: Path,
    engine: Recorder,
    rollout: UnderWay | None = None,
    *,
    budget: int = 0,
    pause_after: frozenset[int] = frozenset(),
    is_aborted: Callable[[], bool] = lambda: False,
    unwell: Mapping[str, str] | None = None,
    gates: tuple[Gate, ...] | None = None,
) -> tuple[Result, list[Event]]:
    stack = stack_of("pod0", RACKS)
    waves = tuple(wave_of(rack) for rack in RACKS)
    given = {stack.name: RecordedStack({}, {})}
    begins = rollout or UnderWay("first", "m", (stack.name,), waves)
    prepared = Prepared((stack,), {stack.name: manifest_of(stack)}, given, {}, (), begins)
    told: list[Event] = []

    def again(effects: Mapping[str, Effect]) -> tuple[Wave, ...]:
        return tuple(wave_of(rack) for rack in RACKS if not effects.keys().isdisjoint((f"{rack}n0", f"{rack}n1")))

    orders = Orders(budget=budget, at_once=2, pause_after=pause_after, is_aborted=is_aborted, again=again)
    asked = (Sick(unwell or {}),) if gates is None else gates
    execution = Execution(root, cast("Engine", engine), prepared, orders, asked, told.append)
    return execution.run(), told


def test_waves_go_out_one_after_another_and_the_whole_stack_last(tmp_path: Path) -> None:
    engine = Recorder()

    result, _ = execute(tmp_path, engine)

    assert result.end is UpdateEnd.DONE
    assert engine.runs == [("c-pod0", ("r0",)), ("c-pod0", ("r1",)), ("c-pod0", ("r2",)), ("c-pod0", ())]
    assert ledger.load(tmp_path) is None


def test_one_device_over_the_budget_stops_the_rollout_where_it_is(tmp_path: Path) -> None:
    engine = Recorder(refuse=frozenset({"r1n0"}))

    result, told = execute(tmp_path, engine)

    assert (result.end, engine.runs[-1]) == (UpdateEnd.STOPPED, ("c-pod0", ("r1",)))
    assert "1 devices of the wave failed, 0 are allowed" in result.text
    assert "r1n0: failed, full disk" in told[-1].text
    document = ledger.load(tmp_path)
    assert document is not None
    assert [number for number, _ in document.left] == [2, 3]


def test_a_device_within_the_budget_is_tried_again_in_a_wave_with_gates(tmp_path: Path) -> None:
    engine = Recorder(refuse=frozenset({"r1n0"}), times=1)

    result, told = execute(tmp_path, engine, budget=1)

    assert result.end is UpdateEnd.DONE
    assert [(wave.number, wave.wave.units, len(wave.failed)) for wave in result.waves] == [
        (1, ("r0",), 0),
        (2, ("r1",), 1),
        (3, ("r2",), 0),
        (4, ("r1",), 0),
    ]
    assert result.waves[-1].checked[0].answer.asked == 2
    assert "wave 4 of 4: 1 rack of pod0, live" in [event.text for event in told]


def test_a_device_that_never_takes_its_tree_stops_the_rollout_before_its_last_step(tmp_path: Path) -> None:
    result, _ = execute(tmp_path, engine := Recorder(refuse=frozenset({"r1n0"})), budget=1)

    assert result.end is UpdateEnd.STOPPED
    assert result.text.startswith("deployment failed on r1n0.")
    assert engine.runs[-1] == ("c-pod0", ("r1",)), "nothing is written without a gate behind it"
    left = ledger.load(tmp_path)
    assert left is not None
    assert (len(left.waves), left.left) == (4, ())


def test_warnings_about_units_are_kept_with_their_wave_or_stack(tmp_path: Path) -> None:
    result, _ = execute(tmp_path, Recorder(warns=frozenset({"r1"})))

    said = {"r1": ("done by b: a is lost",)}
    assert [wave.warned for wave in result.waves] == [{}, said, {}]
    assert result.warned == {"c-pod0": said}


def test_a_health_gate_counts_like_a_refusal(tmp_path: Path) -> None:
    engine = Recorder()

    result, _ = execute(tmp_path, engine, unwell={"r0n1": "two BGP sessions are down"})

    assert result.end is UpdateEnd.STOPPED
    assert result.waves[0].failed == {"r0n1": "two BGP sessions are down"}
    assert len(engine.runs) == 1


def test_a_gate_has_a_budget_of_its_own_below_that_of_the_rollout(tmp_path: Path) -> None:
    sick = Sick({"r0n0": "is open"}, budget=0, name="isolation")

    result, told = execute(tmp_path, Recorder(), budget=2, gates=(Sick({}), sick))

    assert (result.end, result.text) == (UpdateEnd.STOPPED, "1 devices failed the gate isolation, 0 are allowed")
    assert told[-1].details["gates"] == [
        {"gate": "sick", "asked": 2, "wrong": 0},
        {"gate": "isolation", "asked": 2, "wrong": 1},
    ]
    assert "    isolation: 2 asked, 1 not well (0.0 s)" in told[-1].text


def test_whoever_does_not_wait_for_an_answer_leaves_the_wave_unfinished(tmp_path: Path) -> None:
    class Endless(Sick):
        def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
            raise KeyboardInterrupt

    engine = Recorder()

    result, told = execute(tmp_path, engine, gates=(Endless({}),), is_aborted=lambda: bool(engine.runs))

    assert (result.end, result.text) == (
        UpdateEnd.ABORTED,
        "interrupted while gates queried the devices",
    )
    assert "wave 1: 0 of 2 devices are well" in told[-1].text
    assert result.waves[0].failed == dict.fromkeys(("r0n0", "r0n1"), "was not asked whether it is well")
    left = ledger.load(tmp_path)
    assert left is not None
    assert [number for number, _ in left.left] == [1, 2, 3]


def test_what_one_gate_complains_of_no_later_one_is_asked_about(tmp_path: Path) -> None:
    result, told = execute(tmp_path, Recorder(), budget=1, gates=(Sick({"r0n0": "first"}), Sick({"r0n0": "second"})))

    assert result.waves[0].failed == {"r0n0": "first"}
    assert [each.answer.asked for each in result.waves[0].checked] == [2, 1]
    assert told[0].kind is EventKind.WAVE_STARTED


def test_a_gate_that_cannot_look_before_a_wave_has_nothing_touched(tmp_path: Path) -> None:
    engine = Recorder()

    result, _ = execute(tmp_path, engine, gates=(Sick({}, cannot="id_ed25519: there is no such file"),))

    assert (result.end, engine.runs) == (UpdateEnd.STOPPED, [])
    assert result.text == "the wave was not started: id_ed25519: there is no such file"
    assert set(result.waves[0].failed.values()) == {"was not started"}


def test_a_pause_is_noted_and_the_next_run_goes_on_behind_it(tmp_path: Path) -> None:
    paused, _ = execute(tmp_path, Recorder(), pause_after=frozenset({1}))
    assert (paused.end, paused.text) == (UpdateEnd.PAUSED, "wave 2 of 3 is next")
    found = ledger.resumed(ledger.load(tmp_path), "m", ["c-pod0"])
    assert found is not None

    engine = Recorder()
    result, _ = execute(tmp_path, engine, found)

    assert result.end is UpdateEnd.DONE
    assert [units for _, units in engine.runs] == [("r1",), ("r2",), ()]


def test_another_manifest_or_other_stacks_are_another_rollout(tmp_path: Path) -> None:
    execute(tmp_path, Recorder(), pause_after=frozenset({1}))
    document = ledger.load(tmp_path)

    assert ledger.resumed(document, "other", ["c-pod0"]) is None
    assert ledger.resumed(document, "m", ["c-pod0", "c-pod1"]) is None


def test_an_abort_lets_the_running_wave_finish(tmp_path: Path) -> None:
    engine = Recorder()

    result, _ = execute(tmp_path, engine, is_aborted=lambda: len(engine.runs) == 2)

    assert (result.end, result.text) == (UpdateEnd.ABORTED, "wave 3 of 3 is next")
    assert [wave.reason for wave in result.waves] == ["", ""]


def test_a_damaged_note_says_what_to_do(tmp_path: Path) -> None:
    execute(tmp_path, Recorder(), pause_after=frozenset({1}))
    (tmp_path / "rollout" / "under-way.json").write_text("{")

    with pytest.raises(ClusterwrightError, match="remove it, and `up` plans its waves again"):
        ledger.load(tmp_path)
