"""Arista switches over eAPI: configuration sessions with a rollback by the switch unless they are confirmed.

Not through arista.eos: its modules commit at once and know no commit timer, and its persistent connections are found
again by host and SSH port, so that two switches behind one address would share one. A module of ours speaks JSON-RPC
with the standard library instead; Ansible still carries it, on the control node, beside all other devices.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.deploy.ansible.transport import PlaybookPlaces
from clusterwright.deploy.target import DeviceTree, Outcome, Status, tree_digest
from clusterwright.switches.eos.reader.sections import PATH

MARGIN_S = 120


@dataclass(frozen=True, slots=True)
class EapiAccess:
    """Access to switches: over HTTPS, with the certificate of ``DEVICE.domain`` signed by ``ca``.

    Credentials are files, and only their names go to Ansible: ``certificate`` and ``key`` of a client, or ``user`` and
    ``password_file``. A switch rolls back a change not confirmed within ``commit_timer_s``; ``settle_s`` is the time
    for its neighbours to come back, ``answer_s`` the time for one answer.
    """

    addresses: Mapping[str, str]
    ca: Path
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password_file: Path | None = None
    domain: str = ""
    port: int = 443
    commit_timer_s: int = 300
    settle_s: int = 120
    answer_s: int = 60


@dataclass(frozen=True, slots=True)
class EapiTransport:
    """Configurations over eAPI; implements ``Transport``."""

    access: EapiAccess

    @property
    def addresses(self) -> Mapping[str, str]:
        """See ``Transport``."""
        return self.access.addresses

    @property
    def playbook(self) -> str:
        """See ``Transport``."""
        return "deploy_eos.yml"

    @property
    def is_portable(self) -> bool:
        """See ``Transport``: switches are few, and their credentials stay on the control node."""
        return False

    @property
    def files(self) -> Mapping[str, Path]:
        """See ``Transport``."""
        access = self.access
        named = {
            "authority of the switches": access.ca,
            "client certificate": access.certificate,
            "key of the client certificate": access.key,
            "password": access.password_file,
        }
        return {meaning: path for meaning, path in named.items() if path is not None}

    def settled(self, tree: DeviceTree) -> Outcome | None:
        """See ``Transport``. An empty tree only releases a switch: without a configuration it would be out of reach."""
        paths = sorted(artifact.path for artifact in tree)
        if not paths:
            message = "it keeps the configuration that it runs, and is no longer looked after"
            return Outcome(Status.UNCHANGED, message=message, digest=tree_digest(()))
        if paths != [PATH]:
            return Outcome(Status.FAILED, message=f"eAPI carries /{PATH} alone, and its tree has {', '.join(paths)}")
        return None

    def payload(self, tree: DeviceTree) -> bytes:
        """See ``Transport``."""
        return tree[0].content

    def inventory(self, devices: Collection[str], places: PlaybookPlaces, *, reading: bool) -> Mapping[str, Any]:
        """See ``Transport``."""
        access = self.access
        named = {"ca": access.ca, "certificate": access.certificate, "key": access.key}
        named["password_file"] = access.password_file
        credentials = {name: str(path.resolve()) for name, path in named.items() if path is not None}
        variables: dict[str, Any] = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "eos_session_state": "read" if reading else "applied",
            "eos_session_bundles": places.bundles,
            "eos_session_port": access.port,
            "eos_session_domain": access.domain,
            "eos_session_credentials": {**credentials, "user": access.user},
            "eos_session_commit_timer_s": access.commit_timer_s,
            "eos_session_settle_s": access.settle_s,
            "eos_session_answer_s": access.answer_s,
            # It may first wait for another's commit timer and then for its own.
            "eos_session_timeout_s": 2 * access.commit_timer_s + 4 * access.answer_s + MARGIN_S,
        }
        hosts = {device: {"ansible_host": access.addresses[device]} for device in devices}
        return {"all": {"vars": variables, "hosts": hosts}}

    def environment(self, places: PlaybookPlaces) -> Mapping[str, str]:
        """See ``Transport``."""
        return {"ANSIBLE_LOCAL_TEMP": places.scratch, "ANSIBLE_REMOTE_TEMP": places.scratch}
