"""Gates run on the nodes of a wave themselves: their fitness for jobs, and their isolation.

Both run the rendered program on the node itself when the wave is over: an answer can be neither stale nor another
node's.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.target import Unreachable
from clusterwright.hosts.node_checks.health import PACKAGE as NODE_HEALTH
from clusterwright.hosts.node_checks.program_archive import archive_path
from clusterwright.hosts.node_checks.watch import PACKAGE as NODE_WATCH
from clusterwright.plan.model import Plan
from clusterwright.plan.node_parts import owns_part
from clusterwright.rollout.gates.health import DeviceGate, GateAnswer, until_well
from clusterwright.rollout.waves import Wave
from clusterwright.spec.image import FILTER, HEALTH

VERDICT_LIMIT_S, _LOOK_LIMIT_S = 60, 120  # as in the timer units of the same programs
_VERDICT = ("/usr/local/sbin/node-health", "--write")
# The checks of the isolation watch without its record: that needs the node's own key and stays with the node's timer.
_ARCHIVES = [f"/{archive_path(package)}" for package in (NODE_HEALTH, NODE_WATCH)]
_LOOK = f"""
import json, sys
sys.path[:0] = {_ARCHIVES!r}
from clusterwright.node_watch.watch import look
read = lambda name: json.load(open("/etc/clusterwright/" + name))
sight = look(read("health-node.json"), read("isolation-watch.json")["egress"])
found = [check.name + " (" + check.reason + ")" for check in sight.checks if not check.ok]
print(json.dumps({{"wrong": found, "differences": list(sight.differences)}}))
"""


@dataclass(frozen=True, slots=True)
class NodeVerdicts(DeviceGate):
    """Runs ``node-health`` on every changed node; checks failed before the wave may still fail.

    ``waiting`` are nodes that read their new files at the next boot alone: until then their own verdict would fail.
    """

    waiting: frozenset[str]
    name: str = "verdicts"

    def question(self) -> str:
        """See ``Gate``."""
        return f"every changed node checks itself again and is healthy within {self.policy.deadline_s} s"

    def before(self, wave: Wave) -> Mapping[str, frozenset[str]]:
        """The failed checks of each node of the wave, to be excused afterwards; none for a node without a verdict."""
        failed: dict[str, frozenset[str]] = {}
        for name, verdict in self._verdicts(self._asked(wave.devices)).items():
            if isinstance(verdict, dict):
                failed[name] = frozenset(failed_checks(verdict))
        return failed

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        asked, notes = self._asked(trees), dict[str, str]()

        def complaints(names: Sequence[str]) -> Mapping[str, str]:
            wrong: dict[str, str] = {}
            for name, verdict in self._verdicts(names).items():
                if isinstance(verdict, str):
                    wrong[name] = verdict
                    continue
                failed = failed_checks(verdict)
                failed_before = before.get(name, frozenset())
                new = [f"{check} ({reason})" for check, reason in failed.items() if check not in failed_before]
                if new:
                    wrong[name] = f"is unhealthy: {', '.join(new)}"
                elif failed:
                    notes[name] = f"{name} was unhealthy before and is no worse: {', '.join(failed)}"
            return wrong

        wrong = until_well(asked, self.policy.deadline_s, complaints)
        boots = sorted(name for name in trees if name in self.waiting)
        if boots:
            notes[""] = f"{_counted(boots)} to be booted before the files count: no verdict was asked"
        return GateAnswer(len(asked), wrong, tuple(notes.values()))

    def _asked(self, names: Iterable[str]) -> list[str]:
        return [name for name in nodes_with(self.plan, self.devices, names, HEALTH) if name not in self.waiting]

    def _verdicts(self, names: Collection[str]) -> Mapping[str, dict[str, Any] | str]:
        """Each node's verdict, or the reason for none."""
        return verdicts(self.devices, names, min(VERDICT_LIMIT_S, self.policy.deadline_s))


@dataclass(frozen=True, slots=True)
class NodeIsolation(DeviceGate):
    """Checks the isolation on every changed node: its packet filter, its routes, and answers from the internet."""

    name: str = "isolation"

    def question(self) -> str:
        """See ``Gate``."""
        return (
            "every changed node runs the packet filter it was given, has no route out and no answer from outside, "
            f"within {self.policy.deadline_s} s"
        )

    def before(self, wave: Wave) -> None:
        """See ``Gate``. A node open before the wave counts too: the wave was to close it."""

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        asked = nodes_with(self.plan, self.devices, trees, FILTER, HEALTH)
        return GateAnswer(len(asked), until_well(asked, self.policy.deadline_s, self._complaints))

    def _complaints(self, names: Sequence[str]) -> Mapping[str, str]:
        limit_s = min(_LOOK_LIMIT_S, self.policy.deadline_s)
        command = (self.devices.access.python, "-I", "-c", _LOOK)
        answers = self.devices.run(dict.fromkeys(names, RemoteCommand(command, limit_s)))
        reasons = {name: _open(answer) for name, answer in answers.items()}
        return {name: reason for name, reason in reasons.items() if reason}


def verdicts(devices: Devices, names: Iterable[str], limit_s: float) -> Mapping[str, dict[str, Any] | str]:
    """The new verdict of each node about itself, or the reason for none."""
    answers = devices.run(dict.fromkeys(names, RemoteCommand(_VERDICT, limit_s)))
    return {name: _verdict(name, answer) for name, answer in answers.items()}


def nodes_with(plan: Plan, devices: Devices, names: Iterable[str], *parts: str) -> list[str]:
    """Nodes reachable over SSH with all of these parts rendered."""
    nodes = []
    for name in names:
        device = plan.by_name.get(name)
        if name not in devices.over_ssh or device is None or device.kind != "node" or device.image is None:
            continue
        if all(owns_part(plan, device.image, part) for part in parts):
            nodes.append(name)
    return nodes


def _verdict(name: str, answer: CommandResult | Unreachable) -> dict[str, Any] | str:
    if isinstance(answer, Unreachable):
        return f"gives no verdict: {answer.message}"
    try:
        verdict = json.loads(answer.output)
        if verdict["node"] != name:
            return f"gives the verdict of {verdict['node']}"
        return {"ok": verdict["ok"], "checks": list(verdict["checks"])}
    except (ValueError, KeyError, TypeError):
        return f"gives no verdict: {answer.said}"


def failed_checks(verdict: Mapping[str, Any]) -> dict[str, str]:
    """The failed checks with their reasons."""
    return {str(check["name"]): str(check["reason"]) for check in verdict["checks"] if not check["ok"]}


def _open(answer: CommandResult | Unreachable) -> str:
    """The reason for not taking a node as isolated, "" for an isolated one."""
    if isinstance(answer, Unreachable):
        return f"cannot be asked whether it is closed: {answer.message}"
    try:
        report = json.loads(answer.output)
        wrong, differences = list(report["wrong"]), list(report["differences"])
    except (ValueError, KeyError, TypeError):
        return f"does not report whether it is closed: {answer.said}"
    if not wrong:
        return ""
    if not differences:
        return f"is open: {', '.join(wrong)}"
    return f"is open: {', '.join(wrong)}; its rules differ: {'; '.join(differences[:3])}"


def _counted(names: Sequence[str]) -> str:
    return f"{names[0]} has" if len(names) == 1 else f"{len(names)} nodes have"
