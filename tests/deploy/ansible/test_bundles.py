"""Ansible alone: bundles from the command, the inventory from the command, and the roles' playbook, run by itself."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.extras.lab.namespaces import inside, remove_namespaces, run_ip
from clusterwright.intent.node_nics import nics_of
from clusterwright.output.rendering import Rendering

NODE, NAMESPACE = "gpu-p00r00n0", "cw-bundles-node"
LAB = data_files.folder("inventory") / "lab-roce.yaml"
PLAYBOOK = data_files.folder("roles") / "deploy.yml"


@pytest.fixture
def machine() -> Iterator[None]:
    """A network namespace with interfaces as the node has them."""
    remove_namespaces(NAMESPACE)
    run_ip(f"netns add {NAMESPACE}\n")
    names = [nic.interface for nic in nics_of(plan_of("lab-roce"), plan_of("lab-roce").by_name[NODE])]
    run_ip("".join(f"link add {name} type veth peer name p-{name}\n" for name in names), NAMESPACE)
    yield
    remove_namespaces(NAMESPACE)


def play(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "ansible-playbook"
    settings = ["-e", f"device_tree_bundles={folder / 'bundles'}", "-e", "ansible_connection=local"]
    settings += ["-e", "ansible_python_interpreter=/usr/bin/python3", "--limit", NODE]
    environment = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "minimal", "ANSIBLE_HOME": str(folder / "home")}
    with inside(NAMESPACE):
        return subprocess.run(
            [program, "-i", folder / "inventory.json", *settings, *words, PLAYBOOK],
            capture_output=True, text=True, check=False, cwd=folder, env=environment,
        )  # fmt: skip


def test_the_playbook_takes_the_bundle_and_the_inventory(tmp_path: Path, machine: None) -> None:
    assert command("inventory", LAB, "--format", "ansible", "--out", "inventory.json", cwd=tmp_path).returncode == 0
    assert command("render", LAB, "--bundles", "bundles", "--only", NODE, cwd=tmp_path).returncode == 0
    found = play(tmp_path, "--check")
    assert found.returncode == 0, found.stdout + found.stderr
    start, end = found.stdout.index("{"), found.stdout.rindex("}") + 1
    changes = set(json.loads(found.stdout[start:end])["changes"])
    planned = {artifact.path for artifact in Rendering(plan_of("lab-roce")).of_device(NODE)}
    assert "etc/nftables.conf" in changes
    assert len(changes & planned) > len(planned) / 2  # this machine may hold some of them already


def test_bundles_are_for_their_owner_and_of_the_named_devices_alone(tmp_path: Path) -> None:
    assert command("render", LAB, "--bundles", "bundles", "--only", "gpu-*", cwd=tmp_path).returncode == 0
    folder = tmp_path / "bundles"
    assert len(list(folder.iterdir())) == 8
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert command("render", LAB, "--bundles", "bundles", "--only", NODE, cwd=tmp_path).returncode == 0
    assert [file.name for file in folder.iterdir()] == [NODE]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "ctsw-*"), "ctsw-p00-00 needs secrets, as"),
        (("--out", "out"), "Name one folder"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    result = command("render", LAB, "--bundles", "bundles", *words, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert not (tmp_path / "bundles").exists()


def test_secrets_are_in_their_places(tmp_path: Path) -> None:
    names = ("netops-hash", "snmp-auth", "snmp-privacy", "tacacs-key", "bgp-backend", "gnmi-server", "gnmi-collectors")
    (tmp_path / "secrets.yaml").write_text(
        "secrets:\n" + "".join(f"  - {{name: {name}, source: environment}}\n" for name in names)
    )
    values = {name: f"value-of-{name}" for name in names} | {"netops-hash": "$6$salt$" + "a" * 86}
    result = command(
        "render", LAB, "--bundles", "bundles", "--only", "ssw-00", "--secrets", "secrets.yaml",
        cwd=tmp_path, environment=values,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "bundles" / "ssw-00").read_text()
    assert "value-of-tacacs-key" in text
    assert "<secret" not in text


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles/notes").write_text("mine")
    result = command("render", LAB, "--bundles", "bundles", "--only", NODE, cwd=tmp_path)
    assert result.returncode == 2
    assert (tmp_path / "bundles/notes").read_text() == "mine"
