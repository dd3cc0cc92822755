"""Select the gates of a rollout: those of its devices, except the ones skipped by its operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.waves import leaving_nodes

if TYPE_CHECKING:  # the gates import renderers and the readers of scans: imported only to query devices
    from clusterwright.deploy.ansible.query import Devices
    from clusterwright.plan.model import Plan
    from clusterwright.rollout.gates.boots import SlurmBoots
    from clusterwright.rollout.gates.health import Gate
    from clusterwright.rollout.ledger import UnderWay
    from clusterwright.spec.job import Scheduler

GATES = ("sessions", "subnet", "verdicts", "isolation")
"""Gates of every change."""
JOBS = "jobs"
"""The gate before ports of nodes out of service are shut."""


@dataclass(frozen=True, slots=True)
class GateSummary:
    """A gate in preview and record: its question in words (``asks``); see ``Gate`` for the limits."""

    gate: str
    asks: str
    deadline_s: int | None
    budget: int | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A skipped gate, with the reason."""

    gate: str
    why: str


@dataclass(frozen=True, slots=True)
class Gates:
    """Gates between waves: ``asked`` in order; ``unasked`` has the reason of each skipped one."""

    asked: tuple[Gate, ...]
    unasked: Mapping[str, str]

    @property
    def questions(self) -> tuple[GateSummary, ...]:
        """The gates to be run, in order, as data."""
        questions = []
        for gate in self.asked:
            question = GateSummary(gate=gate.name, asks=gate.question(), deadline_s=gate.deadline_s, budget=gate.budget)
            questions.append(question)
        return tuple(questions)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The skipped gates, as data."""
        return tuple(LeftOut(name, why) for name, why in self.unasked.items())

    @property
    def lines(self) -> Iterator[str]:
        """Lines about the gates, shown before the first wave."""
        for gate in self.asked:
            budget = "" if gate.budget is None else f"; at most {gate.budget} devices of a wave may fail it"
            yield f"after each wave, {gate.name}: {gate.question()}{budget}"
        for why in dict.fromkeys(self.unasked.values()):
            names = ", ".join(name for name, reason in self.unasked.items() if reason == why)
            yield f"not asked between waves: {names}; {why}"


def device_gates(
    plan: Plan,
    devices: Devices | None,
    effects: Mapping[str, Effect],
    *,
    rollout: UnderWay,
    root: Path,
    skipped: Mapping[str, str],
) -> Gates:
    """The gates of ``devices``, none without a change; ``effects`` are those on changed devices.

    ``skipped`` are those left out by the operator, with the reason; ``devices`` is None for a directory target.

    Raises ClusterwrightError if nodes have to be booted by Slurm and no controller can be reached.
    """
    if not rollout.waves and not effects:
        return Gates((), {})
    if devices is None:
        names = (JOBS, *GATES) if leaving_nodes(plan, effects) else GATES
        return Gates((), dict.fromkeys(names, "the target is a directory, so no device can be queried"))
    from clusterwright.hosts.slurm.topology import compute_nodes
    from clusterwright.rollout.gates.node_checks import NodeIsolation, NodeVerdicts
    from clusterwright.rollout.gates.sessions import Sessions
    from clusterwright.rollout.gates.subnet import SubnetScan

    policies = plan.spec.rollout.gates
    waiting = frozenset(name for name, effect in effects.items() if effect is Effect.REBOOT)
    of_slurm: dict[str, Scheduler] = {}
    for slurm in plan.spec.schedulers:
        of_slurm.update((node.name, slurm) for node in compute_nodes(plan, slurm))
    boots = _boots(plan, devices, waiting, of_slurm=of_slurm, rollout=rollout, root=root)
    every: tuple[Gate, ...] = (
        *_running_jobs(plan, devices, effects, of_slurm),
        *boots,
        Sessions(plan, devices, policies.sessions, rollout.waves),
        SubnetScan(plan, devices, policies.subnet),
        NodeVerdicts(plan, devices, policies.verdicts, waiting - of_slurm.keys() if boots else waiting),
        NodeIsolation(plan, devices, policies.isolation),
    )
    asked = tuple(gate for gate in every if gate.name not in skipped)
    left_out = [gate.name for gate in every if gate.name in skipped]
    return Gates(asked, {name: f"left out by its operator: {skipped[name]}" for name in left_out})


def _running_jobs(
    plan: Plan, devices: Devices, effects: Mapping[str, Effect], of_slurm: Mapping[str, Scheduler]
) -> Iterator[Gate]:
    """The gate before ports of nodes out of service are shut, for a change that may shut some."""
    from clusterwright.intent.scheduling import controllers
    from clusterwright.rollout.gates.running_jobs import RunningJobs

    leaving: dict[str, frozenset[str]] = {}
    for switch, nodes in leaving_nodes(plan, effects).items():
        if with_jobs := nodes & of_slurm.keys():
            leaving[switch] = with_jobs
    if not leaving:
        return
    reachable: dict[str, str] = {}
    for node in set(chain.from_iterable(leaving.values())):
        reachable[node] = _first_reachable(devices, controllers(plan, of_slurm[node]))
    yield RunningJobs(devices=devices, policy=plan.spec.rollout.gates.jobs, leaving=leaving, controllers=reachable)


def _first_reachable(devices: Devices, hosts: Iterable[str]) -> str:
    """The first host with an SSH address, "" without one."""
    for host in hosts:
        if host in devices.over_ssh:
            return host
    return ""


def _boots(
    plan: Plan,
    devices: Devices,
    waiting: frozenset[str],
    *,
    of_slurm: Mapping[str, Scheduler],
    rollout: UnderWay,
    root: Path,
) -> tuple[SlurmBoots, ...]:
    policy = plan.spec.rollout.boots
    if policy is None:
        return ()
    from clusterwright.intent.scheduling import controllers
    from clusterwright.rollout import ledger
    from clusterwright.rollout.gates.boots import BootNote, SlurmBoots

    reached: dict[Scheduler, str] = {}
    for slurm in (scheduler for scheduler in plan.spec.schedulers if scheduler.slurm is not None):
        hosts = controllers(plan, slurm)
        reached[slurm] = _first_reachable(devices, hosts)
        if not reached[slurm] and any(of_slurm.get(name) == slurm for name in waiting):
            raise ClusterwrightError(
                "nodes of this change have to boot, `rollout: {boots: ...}` has Slurm boot them, and the access file "
                f"has no address for its controller, {', '.join(hosts) or 'which the spec lacks'}. Nothing was touched."
            )
    controller_by_node = {name: reached[slurm] for name, slurm in of_slurm.items() if reached[slurm]}
    note = BootNote(root / ledger.FOLDER / "boots.json", rollout.manifest)
    if not controller_by_node:
        return ()
    gate = SlurmBoots(
        devices=devices,
        policy=policy,
        waiting=waiting & controller_by_node.keys(),
        controllers=controller_by_node,
        rollout=rollout.name,
        note=note,
    )
    return (gate,)
