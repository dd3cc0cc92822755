"""Devices over SSH: by key only, and only with the known host key.

A bundle is a device's tree as one file on the control node; a single Ansible task sends it along with the module.
"""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.deploy.ansible.eapi import EapiAccess
from clusterwright.deploy.ansible.execution import ConnectedMesh
from clusterwright.deploy.ansible.transport import PlaybookPlaces
from clusterwright.deploy.target import DeviceTree, Outcome

_PRIVATE_KEY, _KNOWN_HOSTS = "private key", "known hosts"
_ANSIBLE_WAITS_ON_S = 15
"""Extra time of Ansible beyond ssh's own: otherwise an unreachable device would be reported as a failed task."""


@dataclass(frozen=True, slots=True)
class Access:
    """Access to devices.

    ``addresses`` maps device to address, ``exempt`` are patterns of running state unsupported by these devices (virtual
    ones in a lab; see the module), ``python`` the interpreter on the devices. A ``user`` other than root becomes root
    by sudo, without a password. A device with a changed packet filter has to be reached anew within ``trial_s``
    seconds, or it restores the former filter. ``switch_overs`` replaces steps of the role by name (see its defaults).
    ``eapi`` is the access to switches over eAPI. With ``execution``, other machines do the work over SSH.
    """

    addresses: Mapping[str, str]
    private_key: Path
    known_hosts: Path
    user: str = "root"
    port: int = 22
    python: str = "/usr/bin/python3"
    exempt: tuple[str, ...] = ()
    trial_s: int = 20
    switch_overs: tuple[Mapping[str, Any], ...] = ()
    eapi: EapiAccess | None = None
    execution: ConnectedMesh | None = None


@dataclass(frozen=True, slots=True)
class SshTransport:
    """Trees over SSH; implements ``Transport``."""

    access: Access
    device_timeout_s: int
    connect_timeout_s: int

    @property
    def addresses(self) -> Mapping[str, str]:
        """See ``Transport``."""
        return self.access.addresses

    @property
    def playbook(self) -> str:
        """See ``Transport``."""
        return "deploy.yml"

    @property
    def is_portable(self) -> bool:
        """See ``Transport``."""
        return True

    @property
    def files(self) -> Mapping[str, Path]:
        """See ``Transport``."""
        return {_PRIVATE_KEY: self.access.private_key, _KNOWN_HOSTS: self.access.known_hosts}

    def settled(self, tree: DeviceTree) -> Outcome | None:
        """See ``Transport``: a device over SSH takes any tree."""
        del tree
        return None

    def payload(self, tree: DeviceTree) -> bytes:
        """See ``Transport``."""
        return bundle(tree)

    def inventory(self, devices: Collection[str], places: PlaybookPlaces, *, reading: bool) -> Mapping[str, Any]:
        """See ``Transport``."""
        access = self.access
        variables: dict[str, Any] = {
            "ansible_user": access.user,
            "ansible_port": access.port,
            "ansible_become": access.user != "root",
            "ansible_ssh_private_key_file": places.files[_PRIVATE_KEY],
            "ansible_ssh_args": self._ssh_arguments(places.files[_KNOWN_HOSTS]),
            "ansible_python_interpreter": access.python,
            "device_tree_state": "read" if reading else "applied",
            "device_tree_bundles": places.bundles,
            "device_tree_exempt": list(access.exempt),
            "device_tree_timeout_s": self.device_timeout_s,
            "device_tree_trial_s": access.trial_s,
            "device_tree_site_switch_overs": [dict(step) for step in access.switch_overs],
        }
        hosts = {device: {"ansible_host": access.addresses[device]} for device in devices}
        return {"all": {"vars": variables, "hosts": hosts}}

    def environment(self, places: PlaybookPlaces) -> Mapping[str, str]:
        """See ``Transport``. Ansible waits somewhat longer than ssh."""
        del places
        timeout = str(self.connect_timeout_s + _ANSIBLE_WAITS_ON_S)
        return {"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_PIPELINING": "True", "ANSIBLE_TIMEOUT": timeout}

    def _ssh_arguments(self, known_hosts: str) -> str:
        """OpenSSH's options as arguments, without ControlPersist.

        With pipelining a device gets one connection for each task. Most devices have one task, and the second has to be
        a new connection: it proves that the device can be reached under its new packet filter.
        """
        options = {**ssh_options(self.access, self.connect_timeout_s), "UserKnownHostsFile": known_hosts}
        return " ".join(f"-o {name}={value}" for name, value in options.items())


def ssh_options(access: Access, connect_timeout_s: int) -> Mapping[str, str]:
    """OpenSSH's options for every connection to a device: by the own key alone, and to the known host alone.

    One connection for each task, never a shared one.
    """
    return {
        "BatchMode": "yes",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ConnectTimeout": str(connect_timeout_s),
        # Short, because a packet filter loaded by the task itself has not seen the start of this connection: it drops
        # the device's packets until the control node sends one that a rule permits.
        "ServerAliveInterval": "2",
        # Longer than the trial of a packet filter: the connection survives when the device restores the former one.
        "ServerAliveCountMax": str(30 + access.trial_s),
        "IdentitiesOnly": "yes",
        "PasswordAuthentication": "no",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(access.known_hosts.resolve()),
        "GlobalKnownHostsFile": "/dev/null",
    }


def bundle(tree: DeviceTree) -> bytes:
    """Base64 of a gzipped tar with the tree's files and modes; equal bytes for equal trees.

    Base64, because it is sent as an argument in JSON; a tar, because operators can inspect it.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for artifact in sorted(tree, key=lambda artifact: artifact.path):
            member = tarfile.TarInfo(artifact.path)
            member.mode, member.size = artifact.mode, len(artifact.content)
            archive.addfile(member, io.BytesIO(artifact.content))
    return base64.b64encode(gzip.compress(buffer.getvalue(), mtime=0))
