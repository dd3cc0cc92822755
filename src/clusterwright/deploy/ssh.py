"""Devices over SSH: by key only, and only where the host key is the one that is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.deploy.ansible_bundle import bundle
from clusterwright.deploy.ansible_folder import RunFolder
from clusterwright.deploy.eapi import EapiAccess
from clusterwright.deploy.target import DeviceTree, Outcome


@dataclass(frozen=True, slots=True)
class Access:
    """How devices are reached.

    ``addresses`` maps device to address, ``exempt`` are patterns of running state that these devices cannot hold
    (virtual ones in a lab; see the module), ``python`` the interpreter on the devices. A ``user`` other than root
    becomes root by sudo, without a password. A device whose packet filter changes has ``trial_s`` seconds to be reached
    anew before it takes the filter back. ``switch_overs`` replaces steps of the role by name (see its defaults).
    ``eapi`` reaches switches that speak eAPI.
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
    def files(self) -> Mapping[str, Path]:
        """See ``Transport``."""
        return {"private key": self.access.private_key, "known hosts": self.access.known_hosts}

    def settled(self, tree: DeviceTree) -> Outcome | None:
        """See ``Transport``: a device over SSH takes any tree."""
        del tree
        return None

    def payload(self, tree: DeviceTree) -> bytes:
        """See ``Transport``."""
        return bundle(tree)

    def inventory(self, devices: Collection[str], bundles: Path, *, reading: bool) -> Mapping[str, Any]:
        """See ``Transport``."""
        access = self.access
        variables: dict[str, Any] = {
            "ansible_user": access.user,
            "ansible_port": access.port,
            "ansible_become": access.user != "root",
            "ansible_ssh_private_key_file": str(access.private_key.resolve()),
            "ansible_python_interpreter": access.python,
            "device_tree_state": "read" if reading else "applied",
            "device_tree_bundles": str(bundles),
            "device_tree_exempt": list(access.exempt),
            "device_tree_timeout_s": self.device_timeout_s,
            "device_tree_trial_s": access.trial_s,
            "device_tree_site_switch_overs": [dict(step) for step in access.switch_overs],
        }
        hosts = {device: {"ansible_host": access.addresses[device]} for device in devices}
        return {"all": {"vars": variables, "hosts": hosts}}

    def environment(self, private: RunFolder) -> Mapping[str, str]:
        """See ``Transport``.

        No ControlPersist: with pipelining a device gets one connection for each task, most devices have one task, and
        the second has to be a new connection: it proves that the device can be reached under its new packet filter.
        """
        del private
        options = {
            "BatchMode": "yes",
            "ControlMaster": "no",
            "ControlPath": "none",
            "ConnectTimeout": str(self.connect_timeout_s),
            # Short, because a packet filter loaded by the task itself has not seen this connection begin: it drops what
            # the device sends until the control node says something that a rule lets in.
            "ServerAliveInterval": "2",
            # Longer than a packet filter on trial stays: the connection lives on when the device has taken it back.
            "ServerAliveCountMax": str(30 + self.access.trial_s),
            "IdentitiesOnly": "yes",
            "PasswordAuthentication": "no",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(self.access.known_hosts.resolve()),
            "GlobalKnownHostsFile": "/dev/null",
        }
        return {
            "ANSIBLE_HOST_KEY_CHECKING": "True",
            "ANSIBLE_PIPELINING": "True",
            "ANSIBLE_SSH_ARGS": " ".join(f"-o {name}={value}" for name, value in options.items()),
        }
