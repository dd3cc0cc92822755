"""A node that goes out of service: Slurm drains it first, its jobs are waited for, then its ports go down."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from tests.hosts.slurm.node import plan_on, run_jobs
from tests.plans import plan_of, plan_with

from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.pulumi.units import cut
from clusterwright.deploy.target import Unreachable
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan
from clusterwright.rollout.gates import running_jobs
from clusterwright.rollout.gates.running_jobs import RunningJobs, jobs_in, jobs_question
from clusterwright.rollout.waves import Wave, leaving_nodes, plan_waves
from clusterwright.spec.rollout import GatePolicy

NODE, CONTROLLER = "gpu-p00r00n0", "svc-v00n0"
GONE = f"exceptions:\n  - {{device: {NODE}, state: out-of-service, reason: a board}}\n"


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_with(tmp_path, "lab-roce", GONE)


def _changes(plan: Plan) -> dict[str, Effect]:
    """What differs once the node is out of service: the ports of its switches, and what Slurm is told."""
    switches = {end.device for cable in plan.cables_of[NODE] for end in (cable.a, cable.b)} - {NODE}
    return dict.fromkeys((*sorted(switches), CONTROLLER), Effect.LIVE)


def _wave(plan: Plan) -> Wave:
    """The first wave that shuts ports of the node."""
    waves = plan_waves(plan, cut(plan), _changes(plan), plan.spec.rollout)
    leaving = leaving_nodes(plan, _changes(plan))
    return next(wave for wave in waves if not leaving.keys().isdisjoint(wave.devices))


def test_slurm_is_told_before_a_port_goes_down(plan: Plan) -> None:
    waves = plan_waves(plan, cut(plan), _changes(plan), plan.spec.rollout)
    assert waves[0].devices == (CONTROLLER,)
    assert {NODE} == {node for nodes in leaving_nodes(plan, _changes(plan)).values() for node in nodes}
    others = {name: effect for name, effect in _changes(plan).items() if name != CONTROLLER}
    assert sorted(name for wave in waves[1:] for name in wave.devices) == sorted(others)


def test_a_rack_that_is_drained_as_a_whole_loses_its_jobs_before_its_switches(tmp_path: Path) -> None:
    drained = "exceptions:\n  - {group: p00r00, state: drained, reason: another rack switch}\n"
    rack = plan_with(tmp_path, "lab-roce", drained)
    changes = {
        "rtsw-p00r00": Effect.LIVE,
        "rsw-p00r00": Effect.RESTART,
        "mgmt-00": Effect.LIVE,
        CONTROLLER: Effect.LIVE,
    }
    waves = plan_waves(rack, cut(rack), changes, rack.spec.rollout)
    assert waves[0].devices == (CONTROLLER,)
    nodes = frozenset({NODE, "gpu-p00r00n1"})
    assert leaving_nodes(rack, changes) == {"rtsw-p00r00": nodes, "rsw-p00r00": nodes}


def test_a_node_that_is_drained_alone_keeps_its_ports_and_nobody_waits(tmp_path: Path) -> None:
    drained = f"exceptions:\n  - {{device: {NODE}, state: drained, reason: a board}}\n"
    alone = plan_with(tmp_path, "lab-roce", drained)
    assert not leaving_nodes(alone, _changes(alone))


def test_nothing_goes_ahead_where_all_nodes_stay() -> None:
    plan = plan_of("lab-roce")
    waves = plan_waves(plan, cut(plan), _changes(plan), plan.spec.rollout)
    assert waves[0].devices != (CONTROLLER,)


@dataclass
class Slurm:
    """Stands where a controller is asked over SSH: one answer after the other, the last one again and again."""

    answers: list[CommandResult | Unreachable]
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, questions: dict[str, RemoteCommand]) -> dict[str, CommandResult | Unreachable]:
        ((controller, question),) = questions.items()
        self.asked.append(question.command)
        return {controller: self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]}


def _gate(plan: Plan, slurm: Slurm, deadline_s: int = 1, controller: str = CONTROLLER) -> RunningJobs:
    devices = cast("Devices", slurm)
    return RunningJobs(devices, GatePolicy(deadline_s), leaving_nodes(plan, _changes(plan)), {NODE: controller})


JOB = CommandResult(0, f"101 RUNNING {NODE}\n", "")
NO_JOB = CommandResult(0, "", "")


def test_ports_wait_for_the_job(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_jobs, "POLL_S", 0.01)
    slurm = Slurm([JOB, JOB, NO_JOB])
    _gate(plan, slurm, deadline_s=60).before(_wave(plan))
    assert slurm.asked == [jobs_question([NODE])] * 3


def test_a_job_that_does_not_end_keeps_its_ports(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_jobs, "POLL_S", 0.3)
    with pytest.raises(ClusterwrightError, match=rf"101 \(running on {NODE}\)"):
        _gate(plan, Slurm([JOB])).before(_wave(plan))


@pytest.mark.parametrize("answer", [Unreachable("no route to host"), CommandResult(1, "", "slurm_load_jobs error")])
def test_no_answer_is_no_leave_to_shut_ports(plan: Plan, answer: CommandResult | Unreachable) -> None:
    with pytest.raises(ClusterwrightError, match=f"{CONTROLLER} does not say"):
        _gate(plan, Slurm([answer])).before(_wave(plan))
    with pytest.raises(ClusterwrightError, match=r"the jobs of .* are unknown"):
        _gate(plan, Slurm([answer]), controller="").before(_wave(plan))


def test_other_waves_ask_nobody(plan: Plan) -> None:
    waves = plan_waves(plan, cut(plan), _changes(plan), plan.spec.rollout)
    slurm = Slurm([JOB])
    _gate(plan, slurm).before(waves[0])
    assert slurm.asked == []


def test_a_job_lives_on_its_drained_node_and_slurm_lists_it_until_it_ends(tmp_path: Path) -> None:
    """The gate's own question, to a real slurmctld that drains a node on which a real slurmd runs a job."""
    node = "gpu-s00r00n0"
    question = " ".join(f"'{word}'" for word in jobs_question([node]))
    then = f"""
srun --nodelist={node} sh -c 'sleep 4; date > {tmp_path}/done' &
for try in $(seq 100); do squeue --noheader --states=running | grep -q . && break; sleep 0.1; done
scontrol update NodeName={node} State=DRAIN Reason='in the spec'
{question} > {tmp_path}/running
wait $!
for try in $(seq 100); do {question} > {tmp_path}/ended; [ -s {tmp_path}/ended ] || break; sleep 0.1; done
sinfo --noheader --Node --nodes={node} --format=%T > {tmp_path}/drained
"""
    cores = {"sockets": 1, "cores_per_socket": os.cpu_count() or 1, "threads_per_core": 1}
    report = run_jobs(plan_on(tmp_path, "lab-ib", cores), tmp_path, node, then=then)
    jobs = jobs_in((tmp_path / "running").read_text())
    assert [job for job in jobs if f"running on {node}" in job] == list(jobs) != [], report.logs
    assert (tmp_path / "done").exists(), "the job was ended"
    assert jobs_in((tmp_path / "ended").read_text()) == ()
    assert (tmp_path / "drained").read_text().startswith("drained")
