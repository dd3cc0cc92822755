"""Devices over SSH: the target that hands trees to Ansible.

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
from typing import Any

from clusterwright import data_files
from clusterwright.deploy.ansible_bundle import bundle
from clusterwright.deploy.ansible_events import Transcript, holding_of, outcome_of
from clusterwright.deploy.ansible_folder import RunFolder, run_folder
from clusterwright.deploy.target import DeviceTree, Holding, Outcome, Status, Unreachable, tree_digest
from clusterwright.finding import ClusterwrightError

_PLAYBOOK = "deploy.yml"


@dataclass(frozen=True, slots=True)
class Access:
    """How devices are reached: by key only, and only where the host key is the one in ``known_hosts``.

    ``addresses`` maps device to address, ``exempt`` are patterns of running state that these devices cannot hold
    (virtual ones in a lab; see the module), ``python`` the interpreter on the devices. A ``user`` other than root
    becomes root by sudo.
    """

    addresses: Mapping[str, str]
    private_key: Path
    known_hosts: Path
    user: str = "root"
    port: int = 22
    python: str = "/usr/bin/python3"
    exempt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnsibleTarget:
    """Devices over SSH; implements ``Target``.

    ``folder`` takes the runs' private folders, the latest of which are kept. One run has at most ``shard_hosts`` hosts,
    of which ``forks`` are worked on at once; ``shards_at_once`` runs go side by side. ``device_timeout_s`` ends work
    on one device, ``run_timeout_s`` a whole run.
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
        """See ``Target.apply``."""
        transcripts = self._run(batch, check=check)
        return {
            device: outcome_of(transcripts[device], device, tree_digest(tree), check=check)
            if device in transcripts
            else Outcome(Status.UNREACHABLE, message="the inventory has no address for it")
            for device, tree in batch.items()
        }

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """See ``Target.read``."""
        transcripts = self._run(dict.fromkeys(devices))
        return {
            device: holding_of(transcripts[device], device)
            if device in transcripts
            else Unreachable("the inventory has no address for it")
            for device in devices
        }

    def _run(self, batch: Mapping[str, DeviceTree | None], *, check: bool = False) -> Mapping[str, Transcript]:
        """What was heard of each device that has an address. A device with None instead of a tree is only read."""
        self._require_files()
        names = [device for device in batch if device in self.access.addresses]
        shards = [names[first : first + self.shard_hosts] for first in range(0, len(names), self.shard_hosts)]
        given_up = threading.Event()
        # Never in the main thread: there ansible-runner would take over SIGINT and SIGTERM for good.
        with ThreadPoolExecutor(self.shards_at_once, "ansible") as pool:
            try:
                runs = [
                    pool.submit(self._run_shard, {name: batch[name] for name in shard}, check, given_up)
                    for shard in shards
                ]
                heard = [run.result() for run in runs]
            finally:
                given_up.set()
        return {name: transcript for shard, transcript in zip(shards, heard, strict=True) for name in shard}

    def _require_files(self) -> None:
        for path, meaning in ((self.access.private_key, "private key"), (self.access.known_hosts, "known hosts")):
            if not path.is_file():
                raise ClusterwrightError(
                    f"{path}: there is no such file for the {meaning} that devices are reached with"
                )

    def _run_shard(self, shard: Mapping[str, DeviceTree | None], check: bool, given_up: threading.Event) -> Transcript:
        import ansible_runner

        transcript = Transcript()
        if given_up.is_set():
            return transcript
        with run_folder(self.folder) as private:
            for device, tree in shard.items():
                if tree is not None:
                    (private.bundles / device).write_bytes(bundle(tree))
            reading = any(tree is None for tree in shard.values())
            run = ansible_runner.run(
                private_data_dir=str(private.path),
                project_dir=str(data_files.folder("roles")),
                playbook=str(data_files.folder("roles") / _PLAYBOOK),
                inventory=_inventory(self.access, shard, private.bundles, reading, self.device_timeout_s),
                envvars=_environment(self.access, private, self.connect_timeout_s),
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


def _inventory(
    access: Access, devices: Collection[str], bundles: Path, reading: bool, timeout_s: int
) -> Mapping[str, Any]:
    """The hosts of one run and nothing else: Ansible's start-up time grows with its inventory."""
    variables: dict[str, Any] = {
        "ansible_user": access.user,
        "ansible_port": access.port,
        "ansible_become": access.user != "root",
        "ansible_ssh_private_key_file": str(access.private_key.resolve()),
        "ansible_python_interpreter": access.python,
        "device_tree_state": "read" if reading else "applied",
        "device_tree_bundles": str(bundles),
        "device_tree_exempt": list(access.exempt),
        "device_tree_timeout_s": timeout_s,
    }
    hosts = {device: {"ansible_host": access.addresses[device]} for device in devices}
    return {"all": {"vars": variables, "hosts": hosts}}


def _environment(access: Access, private: RunFolder, connect_timeout_s: int) -> Mapping[str, str]:
    """Ansible's settings, with an empty configuration: a file in somebody's home must not change a deployment.

    No ControlPersist: with pipelining a device gets one connection in the whole run, so that a master would be started
    (5 % of the control node's time) and never used again.
    """
    options = {
        "BatchMode": "yes",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ConnectTimeout": str(connect_timeout_s),
        # Short, because a packet filter loaded by the task itself has not seen this connection begin: it drops what the
        # device sends until the control node says something that a rule lets in.
        "ServerAliveInterval": "2",
        "ServerAliveCountMax": "30",
        "IdentitiesOnly": "yes",
        "PasswordAuthentication": "no",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(access.known_hosts.resolve()),
        "GlobalKnownHostsFile": "/dev/null",
    }
    return {
        "PATH": _search_path(),
        "ANSIBLE_CONFIG": str(private.configuration),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_INVENTORY_ENABLED": "ansible.builtin.yaml",  # reads JSON first
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_SSH_ARGS": " ".join(f"-o {name}={value}" for name, value in options.items()),
        "ANSIBLE_NOCOLOR": "True",
        "ANSIBLE_LOCALHOST_WARNING": "False",
    }


def _search_path() -> str:
    """A PATH on which ansible-playbook is found, first of all beside this interpreter, where the lock put it."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    if shutil.which("ansible-playbook", path=path) is None:
        raise ClusterwrightError("the program ansible-playbook is missing: install the Python package ansible-core")
    return path
