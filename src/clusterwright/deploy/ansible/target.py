"""The target that applies trees by Ansible, over every transport.

Ansible only carries. Everything is rendered before, one task of one module does a device's whole tree (``roles/``), and
ansible-runner runs it in shards, because a machine's memory and start-up time grow with the hosts of one run. Shards
run on this machine, or on execution nodes where there are some.
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

    ``folder`` takes the runs' private folders, the latest of which are kept. One run has at most ``shard_hosts`` hosts,
    of which ``forks`` are worked on at once; ``shards_at_once`` runs go side by side on one machine.
    ``device_timeout_s`` ends work on one device over SSH, ``run_timeout_s`` a whole run.
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
        """See ``Target.apply``. A device whose tree still holds a placeholder gets none of it."""
        outcomes = {
            device: Outcome(Status.FAILED, message=reason)
            for device, tree in batch.items()
            if (reason := left_in(tree)) is not None
        }
        for transport in self._transports():
            outcomes |= {
                device: outcome
                for device, tree in batch.items()
                if device in transport.addresses and (outcome := transport.settled(tree)) is not None
            }
        heard = self._run({device: tree for device, tree in batch.items() if device not in outcomes}, check=check)
        for device, tree in batch.items():
            if device in heard:
                outcomes[device] = outcome_of(heard[device], device, tree_digest(tree), check=check)
        nowhere = Outcome(Status.UNREACHABLE, message=_NO_ADDRESS)
        return {device: outcomes.get(device, nowhere) for device in batch}

    def rename(self, names: Mapping[str, str]) -> None:
        """See ``Target.rename``: a device itself keeps its files under any name."""

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``."""
        heard = self._run(dict.fromkeys(devices))
        return {
            device: holding_of(heard[device], device) if device in heard else Unreachable(_NO_ADDRESS)
            for device in devices
        }

    def _transports(self) -> tuple[Transport, ...]:
        ssh = SshTransport(self.access, self.device_timeout_s, self.connect_timeout_s)
        return (ssh,) if self.access.eapi is None else (ssh, EapiTransport(self.access.eapi))

    def _run(self, batch: Mapping[str, DeviceTree | None], *, check: bool = False) -> Mapping[str, Transcript]:
        """Answers of all devices with an address. A device with None instead of a tree is only read."""
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
                    jobs.append(
                        (
                            PlaybookJob(
                                transport=transport,
                                shard=shard,
                                check=check,
                                forks=self.forks,
                                timeout_s=self.run_timeout_s,
                            ),
                            place,
                        )
                    )
        given_up = threading.Event()
        # Never in the main thread: there ansible-runner would take over SIGINT and SIGTERM for good.
        here = ThreadPoolExecutor(self.shards_at_once, "ansible")
        # What other machines do costs this one little; the mesh itself lets each of them have so much at once.
        elsewhere = ThreadPoolExecutor(max(1, len(jobs)), "mesh")
        with here, elsewhere:
            try:
                runs = [
                    elsewhere.submit(mesh.run, job, place, given_up)
                    if mesh and place is not None
                    else here.submit(self._run_here, job, given_up)
                    for job, place in jobs
                ]
                heard = [run.result() for run in runs]
            finally:
                given_up.set()
        transcripts: dict[str, Transcript] = {}
        for (job, _), transcript in zip(jobs, heard, strict=True):
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
