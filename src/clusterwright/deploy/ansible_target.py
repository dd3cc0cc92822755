"""The target that hands trees to Ansible, whatever a device is reached over.

Ansible only carries. Everything is rendered before, one task of one module does a device's whole tree (``roles/``), and
ansible-runner runs it in shards, because the control node's memory and start-up time grow with the hosts of one run.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from clusterwright import data_files
from clusterwright.deploy.ansible_events import Transcript, holding_of, outcome_of
from clusterwright.deploy.ansible_folder import RunFolder, run_folder
from clusterwright.deploy.eapi import EapiTransport
from clusterwright.deploy.secrets import left_in
from clusterwright.deploy.ssh import Access, SshTransport
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable, tree_digest
from clusterwright.deploy.transport import Transport
from clusterwright.finding import ClusterwrightError

_NO_ADDRESS = "the inventory has no address for it"


@dataclass(frozen=True, slots=True)
class AnsibleTarget:
    """Devices over SSH, and switches over eAPI; implements ``Target``.

    ``folder`` takes the runs' private folders, the latest of which are kept. One run has at most ``shard_hosts`` hosts,
    of which ``forks`` are worked on at once; ``shards_at_once`` runs go side by side. ``device_timeout_s`` ends work
    on one device over SSH, ``run_timeout_s`` a whole run.
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
        found = {
            device: Outcome(Status.FAILED, message=reason)
            for device, tree in batch.items()
            if (reason := left_in(tree)) is not None
        }
        for transport in self._transports():
            found |= {
                device: outcome
                for device, tree in batch.items()
                if device in transport.addresses and (outcome := transport.settled(tree)) is not None
            }
        heard = self._run({device: tree for device, tree in batch.items() if device not in found}, check=check)
        for device, tree in batch.items():
            if device in heard:
                found[device] = outcome_of(heard[device], device, tree_digest(tree), check=check)
        nowhere = Outcome(Status.UNREACHABLE, message=_NO_ADDRESS)
        return {device: found.get(device, nowhere) for device in batch}

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
        """What was heard of each device that has an address. A device with None instead of a tree is only read."""
        shards: list[tuple[Transport, list[str]]] = []
        for transport in self._transports():
            names = [device for device in batch if device in transport.addresses]
            if names:
                _require_files(transport)
            cut = range(0, len(names), self.shard_hosts)
            shards += [(transport, names[first : first + self.shard_hosts]) for first in cut]
        given_up = threading.Event()
        # Never in the main thread: there ansible-runner would take over SIGINT and SIGTERM for good.
        with ThreadPoolExecutor(self.shards_at_once, "ansible") as pool:
            try:
                runs = [
                    pool.submit(self._run_shard, transport, {name: batch[name] for name in names}, check, given_up)
                    for transport, names in shards
                ]
                heard = [run.result() for run in runs]
            finally:
                given_up.set()
        return {name: transcript for (_, names), transcript in zip(shards, heard, strict=True) for name in names}

    def _run_shard(
        self, transport: Transport, shard: Mapping[str, DeviceTree | None], check: bool, given_up: threading.Event
    ) -> Transcript:
        import ansible_runner

        transcript = Transcript()
        if given_up.is_set():
            return transcript
        with run_folder(self.folder) as private:
            for device, tree in shard.items():
                if tree is not None:
                    (private.bundles / device).write_bytes(transport.payload(tree))
            reading = any(tree is None for tree in shard.values())
            run = ansible_runner.run(
                private_data_dir=str(private.path),
                project_dir=str(data_files.folder("roles")),
                playbook=str(data_files.folder("roles") / transport.playbook),
                inventory=transport.inventory(shard, private.bundles, reading=reading),
                envvars={**_environment(private), **transport.environment(private)},
                settings={"job_timeout": self.run_timeout_s, "pexpect_timeout": 1, "suppress_env_files": True},
                forks=self.forks,
                cmdline="--check --diff" if check else None,
                quiet=True,
                event_handler=transcript.hear,
                cancel_callback=given_up.is_set,
            )
        # 0 all well, 2 and 4 some devices failed or were out of reach; anything else ended the run itself.
        transcript.ended = transcript.ended and run.rc in (0, 2, 4)
        return transcript


def _require_files(transport: Transport) -> None:
    for meaning, path in transport.files.items():
        if not path.is_file():
            raise ClusterwrightError(f"{path}: there is no such file for the {meaning} that devices are reached with")


def _environment(private: RunFolder) -> Mapping[str, str]:
    """Ansible's settings, with an empty configuration: a file in somebody's home must not change a deployment."""
    return {
        "PATH": _search_path(),
        "ANSIBLE_CONFIG": str(private.configuration),
        "ANSIBLE_INVENTORY_ENABLED": "ansible.builtin.yaml",  # reads JSON first
        "ANSIBLE_NOCOLOR": "True",
        "ANSIBLE_LOCALHOST_WARNING": "False",
    }


def _search_path() -> str:
    """A PATH on which ansible-playbook is found, first of all beside this interpreter, where the lock put it."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    if shutil.which("ansible-playbook", path=path) is None:
        raise ClusterwrightError("the program ansible-playbook is missing: install the Python package ansible-core")
    return path
