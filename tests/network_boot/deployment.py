"""What a deployment brings machines once they run: their files and their secrets, over SSH from the boot server."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.secrets.secrets import ResolvingTarget
from clusterwright.deploy.target import Status
from clusterwright.extras.lab.namespaces import inside
from clusterwright.hosts.linux.writer.network import node_address
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

USER = "ops"
ANSWERS_S = 300
TRIAL_S = 240  # an emulated processor takes long to answer a new connection


@dataclass(frozen=True, slots=True)
class Operator:
    """Who deploys from ``namespace``: a private ``key``, a ``folder`` of the operator's own, and values of secrets."""

    plan: Plan
    namespace: str
    key: Path
    folder: Path
    secrets: Mapping[str, str]

    def deploy(self, nodes: Sequence[str]) -> None:
        """Bring machines everything that is rendered for them; fails when one does not take it."""
        addresses = {name: self._address(name) for name in nodes}
        known = self.folder / "known_hosts"
        known.touch()
        kept = [line for line in known.read_text().splitlines(True) if line.split()[0] not in addresses.values()]
        with inside(self.namespace):
            known.write_text("".join(kept) + _host_keys(list(addresses.values())))
            access = Access(addresses, self.key, known, user=USER, trial_s=TRIAL_S)
            target = ResolvingTarget(
                AnsibleTarget(self.folder / "runs", access, connect_timeout_s=60), lambda: self.secrets
            )
            outcomes = target.apply({name: tuple(Rendering(self.plan).of_device(name)) for name in nodes})
        assert {name: each.status for name, each in outcomes.items()} == dict.fromkeys(nodes, Status.APPLIED), outcomes

    def _address(self, node: str) -> str:
        services = self.plan.spec.boot.servers if self.plan.spec.boot is not None else ""
        return node_address(self.plan, self.plan.by_name[node], services) or ""

    def run(self, node: str, command: str) -> str:
        """What a command on a machine says, as root."""
        options = ["-i", str(self.key), "-o", f"UserKnownHostsFile={self.folder}/known_hosts", "-o", "BatchMode=yes"]
        with inside(self.namespace):
            return _output("ssh", *options, f"{USER}@{self._address(node)}", "sudo", "sh", "-c", f"'{command}'")


def _host_keys(addresses: Sequence[str]) -> str:
    """The keys of machines as a file of known hosts, once that the sshd of each answers."""
    deadline = time.monotonic() + ANSWERS_S
    found = ""
    while len(found.splitlines()) < len(addresses):
        assert time.monotonic() < deadline, f"no sshd answers at all of {addresses}: {found}"
        scanned = subprocess.run(
            ["ssh-keyscan", "-T", "60", "-t", "ed25519", *addresses], capture_output=True, text=True, check=False
        )
        found = scanned.stdout
    return found


def new_key(path: Path) -> str:
    """Make a private key at ``path``; gives the public one."""
    _output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "netops@lab.example.net", "-f", str(path))
    return path.with_suffix(".pub").read_text().strip()


def new_secrets(devices: Sequence[str]) -> dict[str, str]:
    """What the sources of the spec's secrets would give: of those that each device has of its own, one for each."""
    authority = _output(
        *("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", "/dev/null", "-subj", "/CN=site")
    )
    keys = {f"watch-keys.{device}": _output("openssl", "genpkey", "-algorithm", "ed25519") for device in devices}
    return {"munge-key": "0123456789abcdef" * 4, "log-authority": authority, **keys}


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout
