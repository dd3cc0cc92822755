"""The gate of reboots: files read by the kernel at boot alone count only after Slurm has booted the node.

Slurm drains each node, boots it when its jobs are done, and resumes it. The boot id of a node before its files changed
is kept on disk, so that a killed rollout boots no node twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright import durable
from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.rollout.gates.health import GateAnswer, until_well
from clusterwright.rollout.waves import Wave
from clusterwright.spec.rollout import BootPolicy

POLL_S = 10.0
"""Seconds between queries of nodes to be booted: a boot takes minutes, the jobs before it hours."""
_LIMIT_S = 60
_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")  # made anew at each boot, see random(4)


@dataclass(frozen=True, slots=True)
class BootNote:
    """Boot ids of nodes before they got their files, by the rollout's manifest; a file under the root."""

    path: Path
    manifest: str

    def read(self) -> Mapping[str, str]:
        """Boot ids by node; empty for another rollout and for an unreadable file: then nodes boot once more."""
        try:
            note = json.loads(self.path.read_bytes())
            return dict(note["boots"]) if note["manifest"] == self.manifest else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def add(self, boots: Mapping[str, str]) -> Mapping[str, str]:
        """Add nodes not noted yet, and return all notes. Raises ClusterwrightError."""
        boot_ids = {**boots, **self.read()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        durable.replace(self.path, json.dumps({"manifest": self.manifest, "boots": boot_ids}).encode())
        return boot_ids


@dataclass(frozen=True, slots=True)
class SlurmBoots:
    """See the module. ``waiting`` are nodes to be booted; ``controllers`` are the hosts of scontrol by node."""

    devices: Devices
    policy: BootPolicy
    waiting: frozenset[str]
    controllers: Mapping[str, str]
    rollout: str
    note: BootNote
    name: str = "boots"
    budget: int | None = None

    @property
    def deadline_s(self) -> int:
        """See ``Gate``."""
        return self.policy.deadline_s

    def question(self) -> str:
        """See ``Gate``."""
        return (
            f"nodes that read their files at boot are drained, booted and given back by Slurm, through "
            f"{' and '.join(dict.fromkeys(self.controllers.values()))}, within {self.policy.deadline_s} s"
        )

    def before(self, wave: Wave) -> Mapping[str, str]:
        """The boot id of each node of the wave before it got its files."""
        due = [name for name in wave.devices if name in self.waiting]
        noted = self.note.read()
        new_boots = self._boots(name for name in due if name not in noted)
        boot_ids = self.note.add({name: boot for name, boot in new_boots.items() if boot}) if due else noted
        return {name: boot_ids[name] for name in wave.devices if name in boot_ids}

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``. Nodes booted since their note are not booted again."""
        due = [name for name in trees if name in self.waiting or name in before]
        unknown = {name: "did not say in which boot it was, and is not booted" for name in due if name not in before}
        asked = [name for name in due if name in before]

        nodes_by_controller: dict[str, list[str]] = {}
        for name in sorted(self._not_booted(asked, before)):
            nodes_by_controller.setdefault(self.controllers[name], []).append(name)
        errors: dict[str, str] = {}
        for controller, nodes in nodes_by_controller.items():
            errors.update(dict.fromkeys(nodes, self._order(controller, nodes)))

        def complaints(names: Sequence[str]) -> Mapping[str, str]:
            not_booted = self._not_booted(names, before)
            return {name: f"{reason}{errors.get(name, '')}" for name, reason in not_booted.items()}

        wrong = until_well(asked, self.policy.deadline_s, complaints, POLL_S)
        notes = tuple(f"{name} booted" for name in asked if name not in wrong)
        return GateAnswer(len(due), {**wrong, **unknown}, notes)

    def _order(self, controller: str, names: Sequence[str]) -> str:
        """Order a Slurm to boot its nodes, and return its error message, "" for none."""
        reason = f"reason=clusterwright {self.rollout}"
        command = ("scontrol", "reboot", "ASAP", "nextstate=RESUME", reason, hostlist(names))
        answer = self.devices.run({controller: RemoteCommand(command, _LIMIT_S)})[controller]
        if isinstance(answer, CommandResult):
            return "" if answer.status == 0 else f"; Slurm says: {answer.said}"
        return f"; Slurm could not be asked: {answer.message}"

    def _not_booted(self, names: Iterable[str], before: Mapping[str, str]) -> dict[str, str]:
        wrong: dict[str, str] = {}
        for name, boot in self._boots(names).items():
            if boot == before[name]:
                wrong[name] = f"has not booted within {self.policy.deadline_s} s"
            elif not boot:
                wrong[name] = f"is not back from its boot within {self.policy.deadline_s} s"
        return wrong

    def _boots(self, names: Iterable[str]) -> Mapping[str, str]:
        """The present boot id of each node, "" for a node without an answer."""
        boot_ids: dict[str, str] = {}
        for name, answer in self.devices.run(dict.fromkeys(names, RemoteCommand(_BOOT_ID, _LIMIT_S))).items():
            boot_ids[name] = ""
            if isinstance(answer, CommandResult) and answer.status == 0:
                boot_ids[name] = answer.output.strip()
        return boot_ids
