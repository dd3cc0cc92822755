"""Which gates a rollout has, as preview and record have them: limits of the spec, and why one is left out."""

from __future__ import annotations

from pathlib import Path

from tests.plans import plan_of, plan_with

from clusterwright.deploy.ansible.query import Devices
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.device_files.effect import Effect
from clusterwright.rollout.gates.selection import GATES, Gates, device_gates
from clusterwright.rollout.ledger import UnderWay
from clusterwright.rollout.waves import Wave

NODE = "gpu-p00r00n0"
WAVE = Wave("pod0", "rack", True, ("p00r00",), (NODE,), Effect.LIVE, (), 1.0, "", "", "")
ROLLOUT = UnderWay("20260301T020000-abc", "digest", ("lab-roce-pod0",), (WAVE,))
DEVICES = Devices(Access({NODE: "192.0.2.1"}, Path("id"), Path("known_hosts")))
WHY = "hosts of a lab, without GPUs"


def test_the_limits_of_the_spec_and_the_reason_of_the_operator_are_there_as_data(tmp_path: Path) -> None:
    limits = "rollout: {gates: {sessions: {deadline_s: 300}, isolation: {deadline_s: 45, budget: 0}}}\n"
    plan = plan_with(tmp_path, "lab-roce", limits)

    found = device_gates(plan, DEVICES, {}, rollout=ROLLOUT, root=tmp_path, skipped={"verdicts": WHY})

    assert [(question.gate, question.deadline_s, question.budget) for question in found.questions] == [
        ("sessions", 300, None),
        ("subnet", 180, None),
        ("isolation", 45, 0),
    ]
    assert found.questions[0].asks.endswith("are back within 300 s")
    assert [(each.gate, each.why) for each in found.left_out] == [("verdicts", f"left out by its operator: {WHY}")]
    assert list(found.lines)[-1] == f"not asked between waves: verdicts; left out by its operator: {WHY}"


def test_a_first_deployment_that_goes_on_without_waves_of_its_own_tells_what_running_nodes_are_asked(
    tmp_path: Path,
) -> None:
    begun = UnderWay(ROLLOUT.name, ROLLOUT.manifest, ROLLOUT.stacks, ())
    found = device_gates(plan_of("lab-roce"), DEVICES, {NODE: Effect.LIVE}, rollout=begun, root=tmp_path, skipped={})
    assert [question.gate for question in found.questions] == list(GATES)


def test_a_directory_answers_nothing_and_without_waves_nothing_is_asked(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    quiet = UnderWay(ROLLOUT.name, ROLLOUT.manifest, ROLLOUT.stacks, ())

    nobody = device_gates(plan, None, {}, rollout=ROLLOUT, root=tmp_path, skipped={})

    assert nobody.questions == ()
    assert [each.gate for each in nobody.left_out] == list(GATES)
    assert {each.why for each in nobody.left_out} == {"the target is a directory, so no device can be queried"}
    assert device_gates(plan, None, {}, rollout=quiet, root=tmp_path, skipped={}) == Gates((), {})
