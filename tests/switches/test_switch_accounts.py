"""Operators' accounts on switches that are Linux hosts, as the programs that read them see them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.hosts.linux.reader.node_logins import read_accounts
from clusterwright.hosts.linux.writer.switch_accounts import KEYS
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import tree_of

NAME = "rtsw-p00r00"
MONITOR = """
site:
  operators:
    - name: watcher
      role: monitor
      keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4g watcher@lab"]
"""


def lay_out(plan: Plan, root: Path) -> Path:
    for artifact in Rendering(plan).of_device(NAME):
        file = root / artifact.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(artifact.content)
        file.chmod(artifact.mode)
    return root


@pytest.mark.parametrize("spec", ["lab-sonic", "lab-roce"])
def test_sshd_takes_keys_alone_and_asks_pam_for_central_logins(spec: str, tmp_path: Path) -> None:
    root = lay_out(plan_of(spec), tmp_path)
    key = tmp_path / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    file = root / "etc/ssh/sshd_config.d/10-clusterwright.conf"
    Path("/run/sshd").mkdir(exist_ok=True)
    command = ["/usr/sbin/sshd", "-T", "-f", str(file), "-h", str(key), "-o", "UsePAM=yes"]
    seen = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    for line in (
        "permitrootlogin no",
        "passwordauthentication no",
        "kbdinteractiveauthentication yes",
        f"authorizedkeysfile /{KEYS}/%u",
    ):
        assert line in seen
    listed = subprocess.run(["ssh-keygen", "-l", "-f", str(root / KEYS / "netops")], check=True, capture_output=True)
    assert b"ED25519" in listed.stdout


def test_systemd_makes_the_accounts(tmp_path: Path) -> None:
    root = lay_out(plan_with(tmp_path, "lab-sonic", MONITOR), tmp_path / "root")
    subprocess.run(["systemd-sysusers", f"--root={root}"], check=True, capture_output=True)
    users = {line.split(":")[0]: line.split(":") for line in (root / "etc/passwd").read_text().splitlines()}
    groups = {line.split(":")[0]: line.split(":")[3] for line in (root / "etc/group").read_text().splitlines()}
    assert users["netops"][5:] == ["/home/netops", "/bin/bash"]
    assert groups["netadmin"] == "netops"
    assert "watcher" in users
    assert (root / "etc/sudoers.d/clusterwright").stat().st_mode & 0o777 == 0o440


@pytest.mark.parametrize("name", ["netadmin", "sudo"])
def test_an_account_with_the_name_of_a_group_has_its_rights(name: str, tmp_path: Path) -> None:
    """systemd-sysusers adds it to the group, whatever its role is, and the proof says so."""
    plan = plan_with(tmp_path, "lab-sonic", MONITOR.replace("watcher", name))
    root = lay_out(plan, tmp_path / "root")
    (root / "etc/group").write_text("sudo:x:27:\n")
    subprocess.run(["systemd-sysusers", f"--root={root}"], check=True, capture_output=True)
    users = {line.split(":")[0]: line.split(":")[3] for line in (root / "etc/passwd").read_text().splitlines()}
    groups = {line.split(":")[0]: line.split(":")[2] for line in (root / "etc/group").read_text().splitlines()}
    assert users[name] == groups[name]
    tree = tree_of(plan.name, Rendering(plan).of_device(NAME), Declaration(plan))
    message = f"the account {name} may change the switch, and its operator may not"
    assert message in {example.message for example in ISOLATION.run(tree).counterexamples}


def test_a_user_of_a_node_is_in_the_group_of_its_name() -> None:
    text = 'u docker 2001 "docker" /home/docker /bin/bash\nu ops 2000 "ops" /home/ops /bin/bash\nm ops sudo\n'
    groups = {name: account.groups for name, account in read_accounts(text).items()}
    assert groups == {"docker": {"docker"}, "ops": {"sudo"}}
