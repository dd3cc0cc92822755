"""The Ansible target: applies trees over every transport.

Ansible only transports. Everything is rendered before, one task of one module applies a device's whole tree
(``roles/``), and ansible-runner runs it in shards, because a machine's memory and start-up time grow with the hosts of
one run. Shards run on this machine, or on execution nodes if there are any.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clusterwright.deploy.ansible.eapi import EapiTransport
from clusterwright.deploy.ansible.folder import run_folder
from clusterwright.deploy.ansible.job import PlaybookJob
from clusterwright.deploy.ansible.mesh import Mesh
from clusterwright.deploy.ansible.ssh import Access, SshTransport
from clusterwright.deploy.ansible.transcript import Transcript, holding_of, outcome_of
from clusterwright.deploy.ansible.transport import Transport
from clusterwright.deploy.secrets.secrets import left_in
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable, tree_digest
from clusterwright.finding import ClusterwrightError

_NO_ADDRESS = "the inventory has no address for it"


@dataclass(frozen=True, slots=True)
class AnsibleTarget:
    """Devices over SSH, and switches over eAPI; implements ``Target``.

    ``folder`` has the runs' private folders; the latest are kept. One run has at most ``shard_hosts`` hosts, ``forks``
    of them at once; ``shards_at_once`` runs are in parallel on one machine. ``device_timeout_s`` ends work on one
    device over SSH, ``run_timeout_s`` a whole run.
    """

    folder: Path
    access: Access
    forks: int = 20
    shard_hosts: int = 192
    shards_at_once: int = 2
    device_timeout_s: int = 300
    run_timeout_s: int = 3600
    connect_timeout_s: int = 10

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """See ``Target.apply``. A tree with a placeholder left in it is not sent."""
        outcomes: dict[str, Outcome] = {}
        for device, tree in batch.items():
            outcome = self._outcome_without_run(device, tree)
            if outcome is not None:
                outcomes[device] = outcome
        remaining = {device: tree for device, tree in batch.items() if device not in outcomes}
        transcripts = self._run(remaining, check=check)
        for device, transcript in transcripts.items():
            outcomes[device] = outcome_of(transcript, device, tree_digest(batch[device]), check=check)
        without_address = Outcome(Status.UNREACHABLE, message=_NO_ADDRESS)
        return {device: outcomes.get(device, without_address) for device in batch}

    def _outcome_without_run(self, device: str, tree: DeviceTree) -> Outcome | None:
        """The outcome of a device that needs no run; None for all others."""
        for transport in self._transports():
            if device in transport.addresses:
                outcome = transport.settled(tree)
                if outcome is not None:
                    return outcome
        reason = left_in(tree)
        return None if reason is None else Outcome(Status.FAILED, message=reason)

    def rename(self, names: Mapping[str, str]) -> None:
        """See ``Target.rename``: a device itself keeps its files under any name."""

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``."""
        transcripts = self._run(dict.fromkeys(devices))
        answers: dict[str, Holding | Unreachable] = {}
        for device in devices:
            answers[device] = Unreachable(_NO_ADDRESS)
            if device in transcripts:
                answers[device] = holding_of(transcripts[device], device)
        return answers

    def _transports(self) -> tuple[Transport, ...]:
        ssh = SshTransport(self.access, self.device_timeout_s, self.connect_timeout_s)
        return (ssh,) if self.access.eapi is None else (ssh, EapiTransport(self.access.eapi))

    def _run(self, batch: Mapping[str, DeviceTree | None], *, check: bool = False) -> Mapping[str, Transcript]:
        """Transcripts of all devices with an address. A device with None instead of a tree is only read."""
        mesh = None if self.access.execution is None else Mesh(self.access.execution, self.folder, self.shards_at_once)
        jobs: list[tuple[PlaybookJob, str | None]] = []
        for transport in self._transports():
            names = [device for device in batch if device in transport.addresses]
            if not names:
                continue
            _require_files(transport)
            shares = mesh.shares(names) if mesh and transport.is_portable else {None: names}
            for place, share in shares.items():
                for first in range(0, len(share), self.shard_hosts):
                    shard = {name: batch[name] for name in share[first : first + self.shard_hosts]}
                    job = PlaybookJob(
                        transport=transport,
                        shard=shard,
                        check=check,
                        forks=self.forks,
                        timeout_s=self.run_timeout_s,
                    )
                    jobs.append((job, place))
        given_up = threading.Event()
        # Never in the main thread: there ansible-runner would take over SIGINT and SIGTERM for good.
        here = ThreadPoolExecutor(self.shards_at_once, "ansible")
        # Work of other machines costs this one little; the mesh itself limits each of them.
        elsewhere = ThreadPoolExecutor(max(1, len(jobs)), "mesh")
        with here, elsewhere:
            try:
                runs = []
                for job, place in jobs:
                    if mesh and place is not None:
                        runs.append(elsewhere.submit(mesh.run, job, place, given_up))
                    else:
                        runs.append(here.submit(self._run_here, job, given_up))
                results = [run.result() for run in runs]
            finally:
                given_up.set()
        transcripts: dict[str, Transcript] = {}
        for (job, _), transcript in zip(jobs, results, strict=True):
            transcripts.update(dict.fromkeys(job.shard, transcript))
        return transcripts

    def _run_here(self, job: PlaybookJob, given_up: threading.Event) -> Transcript:
        transcript = Transcript()
        if not given_up.is_set():
            with run_folder(self.folder) as private:
                job.run_here(private, transcript, given_up.is_set)
        return transcript


def _require_files(transport: Transport) -> None:
    for meaning, path in transport.files.items():
        if not path.is_file():
            raise ClusterwrightError(f"{path}: there is no such file for the {meaning} that devices are reached with")
