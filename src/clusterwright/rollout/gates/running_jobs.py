"""The gate before ports are shut: nodes going out of service have to be free of jobs first.

Slurm has drained them by then (waves.py sends its configuration ahead), so jobs end and none starts. A wave that shuts
ports of a node is not started before the node's jobs have ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from clusterwright.and_more import and_more
from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.finding import ClusterwrightError
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.rollout.gates.health import GateAnswer
from clusterwright.rollout.waves import Wave
from clusterwright.spec.rollout import GatePolicy

POLL_S = 10.0
"""Seconds between queries of Slurm: jobs end after hours."""
_LIMIT_S = 60
_SHOWN = 3


def jobs_question(nodes: Iterable[str]) -> tuple[str, ...]:
    """The command for listing jobs on ``nodes``, including ending and suspended ones."""
    return ("squeue", "--noheader", "--all", f"--nodelist={hostlist(sorted(nodes))}", "--format=%i %T %N")


def jobs_in(answer: str) -> tuple[str, ...]:
    """The jobs in an answer to ``jobs_question``. A pending job has no node, and is not among them."""
    jobs = []
    for line in answer.splitlines():
        fields = line.split()
        if len(fields) == 3:
            job_id, state, nodes = fields
            jobs.append(f"{job_id} ({state.lower()} on {nodes})")
    return tuple(jobs)


@dataclass(frozen=True, slots=True)
class RunningJobs:
    """See the module.

    ``leaving`` has the nodes losing their path, by switch. ``controllers`` has the host of squeue for each such node of
    a Slurm, "" without a reachable one.
    """

    devices: Devices
    policy: GatePolicy
    leaving: Mapping[str, frozenset[str]]
    controllers: Mapping[str, str]
    name: str = "jobs"
    budget: int | None = None

    @property
    def deadline_s(self) -> int:
        """See ``Gate``."""
        return self.policy.deadline_s

    def question(self) -> str:
        """See ``Gate``."""
        return (
            "a wave by which nodes out of service, or drained with their switch, lose their way waits until squeue "
            f"lists no job on them, {self.policy.deadline_s} s at most"
        )

    def before(self, wave: Wave) -> None:
        """Wait for the jobs. Raises ClusterwrightError if one remains, or if Slurm does not answer."""
        nodes = set(chain.from_iterable(self.leaving.get(device, ()) for device in wave.devices))
        by_controller: dict[str, set[str]] = {}
        for node in nodes & self.controllers.keys():
            by_controller.setdefault(self.controllers[node], set()).add(node)
        ends = time.monotonic() + self.policy.deadline_s
        while by_controller:
            jobs = self._jobs(by_controller)
            if not jobs:
                return
            if time.monotonic() >= ends:
                raise ClusterwrightError(
                    f"its ports are those of nodes with jobs: {and_more(jobs, _SHOWN)}. Wait for them or end them, and "
                    "run the same command again"
                )
            time.sleep(min(POLL_S, max(0.0, ends - time.monotonic())))

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``: the jobs were waited for before the wave."""
        return GateAnswer(0, {})

    def _jobs(self, by_controller: Mapping[str, set[str]]) -> tuple[str, ...]:
        jobs: list[str] = []
        for controller, nodes in sorted(by_controller.items()):
            if not controller:
                raise ClusterwrightError(
                    f"the jobs of {and_more(sorted(nodes), _SHOWN)} are unknown: the access file has no address of its "
                    "Slurm's controller"
                )
            question = RemoteCommand(jobs_question(nodes), _LIMIT_S)
            answer = self.devices.run({controller: question})[controller]
            if not isinstance(answer, CommandResult) or answer.status != 0:
                reason = answer.said if isinstance(answer, CommandResult) else answer.message
                raise ClusterwrightError(f"{controller} does not say which jobs run: {reason}")
            jobs += jobs_in(answer.output)
        return tuple(jobs)
