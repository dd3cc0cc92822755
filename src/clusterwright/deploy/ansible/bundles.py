"""Devices' trees as files for the roles' playbooks, to be run by Ansible alone without a deployment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from clusterwright.deploy.ansible.ssh import bundle
from clusterwright.deploy.secrets.secrets import Values, names_in, resolve_tree
from clusterwright.deploy.target import DeviceTree
from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.systems import system_of
from clusterwright.switches.eos.reader.sections import PATH as EOS_PATH

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_SSH = "ssh"


@dataclass(frozen=True, slots=True)
class WrittenBundles:
    """Names of devices by playbook: over SSH (deploy.yml), over eAPI (deploy_eos.yml); ``skipped`` with the reason."""

    over_ssh: tuple[str, ...]
    over_eapi: tuple[str, ...]
    skipped: Mapping[str, str]


def write_bundles(plan: Plan, names: Iterable[str], folder: Path, values: Values | None) -> WrittenBundles:
    """Write the bundles of devices into ``folder``, readable by its owner alone: trees hold secrets.

    Raises SecretError for a secret without a value, before anything is written, and ClusterwrightError if writing
    fails, if ``folder`` holds other files, or if secrets are needed and ``values`` are None.
    """
    payloads: dict[str, bytes] = {}
    over_ssh, over_eapi, skipped = [], [], {}
    for name in names:
        tree = Rendering(plan).of_device(name)
        if not tree:
            skipped[name] = "nothing is rendered for it"
            continue
        system = system_of(plan.spec.catalogue[plan.by_name[name].model])
        tree = _with_secrets(name, tree, values)
        if system is None or system.connection == _SSH:
            payloads[name] = bundle(tree)
            over_ssh.append(name)
        elif [artifact.path for artifact in tree] == [EOS_PATH]:
            payloads[name] = tree[0].content
            over_eapi.append(name)
        else:
            skipped[name] = f"{system.title} is configured by people"
    _replace(folder, payloads, frozenset(plan.by_name))
    return WrittenBundles(tuple(over_ssh), tuple(over_eapi), skipped)


def _with_secrets(name: str, tree: DeviceTree, values: Values | None) -> DeviceTree:
    if values is None:
        needed = sorted(set(chain.from_iterable(names_in(artifact.content) for artifact in tree)))
        if needed:
            raise ClusterwrightError(
                f"{name} needs secrets, as {needed[0]}: name the file of their sources with --secrets FILE."
            )
        return tree
    return resolve_tree(tree, values)


def _replace(folder: Path, payloads: Mapping[str, bytes], devices: frozenset[str]) -> None:
    """Replace every bundle, written aside first, and remove bundles of devices without one."""
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        stale = {entry.name for entry in folder.iterdir()} - payloads.keys()
        other_files = sorted(stale - devices)
        if other_files:
            raise ClusterwrightError(
                f"{folder}: holds {other_files[0]}, which is no bundle of a device. Name another folder."
            )
        folder.chmod(PRIVATE_FOLDER)
        for name, content in payloads.items():
            number, aside = tempfile.mkstemp(prefix=".", dir=folder)
            with os.fdopen(number, "wb") as file:
                file.write(content)
            Path(aside).chmod(PRIVATE_FILE)
            Path(aside).replace(folder / name)
        for name in stale:
            (folder / name).unlink()
    except OSError as error:
        raise ClusterwrightError(f"{folder}: cannot be written: {error.strerror}") from error
