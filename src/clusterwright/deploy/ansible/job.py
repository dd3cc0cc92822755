"""One shard of devices as a job for ansible-runner, here or on another machine.

A transmitted job has no path of this machine: roles, payloads, keys and host keys are in its folder, which the other
machine unpacks anywhere, and removes after the run.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from clusterwright import data_files
from clusterwright.child_environment import LOCALE, child_environment
from clusterwright.deploy.ansible.folder import RunFolder
from clusterwright.deploy.ansible.transcript import Transcript
from clusterwright.deploy.ansible.transport import PlaybookPlaces, Transport
from clusterwright.deploy.target import DeviceTree
from clusterwright.finding import ClusterwrightError

# Only playbooks, roles and their files; caches of a linter or of Python stay here.
_NOT_SENT = shutil.ignore_patterns("__pycache__", ".*", "*.md")
_CONFIGURATION = "ansible.cfg"


@dataclass(frozen=True, slots=True)
class PlaybookJob:
    """``shard`` maps device to tree; a device with None instead of a tree is only read."""

    transport: Transport
    shard: Mapping[str, DeviceTree | None]
    check: bool
    forks: int
    timeout_s: int

    def run_here(self, private: RunFolder, transcript: Transcript, given_up: Callable[[], bool]) -> None:
        """Run the job in this process, and fill ``transcript``."""
        # By the package: a thread waits while another one imports it. The submodule alone exists earlier, when
        # `plugins` is still the subpackage, and a run ends with "'module' object is not iterable".
        import ansible_runner

        files = {meaning: str(path.resolve()) for meaning, path in self.transport.files.items()}
        places = PlaybookPlaces(str(private.bundles), str(private.path / "tmp"), files)
        arguments = self._arguments(private, places)
        arguments["envvars"]["PATH"] = _search_path()
        runner = ansible_runner.interface.init_runner(
            **arguments, event_handler=transcript.hear, cancel_callback=given_up
        )
        # It would start from this process's whole environment, and records Ansible's environment in a file.
        runner_variables = {name: value for name, value in runner.config.env.items() if name in _SET_BY_RUNNER}
        runner.config.env = {**child_environment(), **arguments["envvars"], **runner_variables}
        runner.run()
        transcript.close(runner.rc)

    def transmit(self, private: RunFolder, stream: IO[bytes]) -> None:
        """Write the job to ``stream``, for ``ansible-runner worker``, with its keys and payloads."""
        import ansible_runner

        files: dict[str, str] = {}
        for meaning, path in self.transport.files.items():
            copy = private.access / meaning.replace(" ", "_")
            copy.write_bytes(path.read_bytes())
            copy.chmod(0o600)
            files[meaning] = f"{{{{ playbook_dir }}}}/../{private.access.name}/{copy.name}"
        places = PlaybookPlaces(f"{{{{ playbook_dir }}}}/../{private.bundles.name}", "{{ playbook_dir }}/../tmp", files)
        ansible_runner.run(**self._arguments(private, places), streamer="transmit", _output=stream)

    def _arguments(self, private: RunFolder, places: PlaybookPlaces) -> dict[str, Any]:
        for device, tree in self.shard.items():
            if tree is not None:
                (private.bundles / device).write_bytes(self.transport.payload(tree))
        shutil.copytree(data_files.folder("roles"), private.project, ignore=_NOT_SENT, dirs_exist_ok=True)
        (private.project / _CONFIGURATION).touch()
        reading = any(tree is None for tree in self.shard.values())
        return {
            "private_data_dir": str(private.path),
            "playbook": self.transport.playbook,
            "inventory": self.transport.inventory(self.shard, places, reading=reading),
            "envvars": {**_ENVIRONMENT, **self.transport.environment(places)},
            "settings": {"job_timeout": self.timeout_s, "pexpect_timeout": 1, "suppress_env_files": True},
            "forks": self.forks,
            "cmdline": "--check --diff" if self.check else None,
            "quiet": True,
        }


_ENVIRONMENT = {
    # An empty one, found from the project's folder: a file in a home directory must not change a deployment.
    "ANSIBLE_CONFIG": _CONFIGURATION,
    "ANSIBLE_INVENTORY_ENABLED": "ansible.builtin.yaml",  # reads JSON first
    "ANSIBLE_NOCOLOR": "True",
    "ANSIBLE_LOCALHOST_WARNING": "False",
    "ANSIBLE_HOST_KEY_CHECKING": "True",
    # Variables that ansible-runner adds to or takes from the caller's environment.
    "ANSIBLE_CALLBACK_PLUGINS": "",
    "ANSIBLE_STDOUT_CALLBACK": "",
    "AWX_LIB_DIRECTORY": "",
    **LOCALE,  # an execution node would use its own otherwise
}

_SET_BY_RUNNER = frozenset(
    {"ANSIBLE_CALLBACK_PLUGINS", "ANSIBLE_STDOUT_CALLBACK", "ANSIBLE_RETRY_FILES_ENABLED", "AWX_ISOLATED_DATA_DIR"}
    | {"ANSIBLE_CACHE_PLUGIN", "ANSIBLE_CACHE_PLUGIN_CONNECTION"}
)
"""Variables set by ansible-runner itself (``BaseConfig.prepare_env`` of 2.4)."""


def _search_path() -> str:
    """A PATH with ansible-playbook, first of all the one beside this interpreter."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    if shutil.which("ansible-playbook", path=path) is None:
        raise ClusterwrightError("the program ansible-playbook is missing: install the Python package ansible-core")
    return path
