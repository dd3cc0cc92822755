"""The Ansible target against hosts with a real sshd, a kernel's own sysctls and a loaded packet filter each."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import DeviceTree, Holding, Status, Unreachable, tree_digest

FILTER = """\
flush ruleset
table inet lab {{
    chain input {{
        type filter hook input priority filter; policy accept;
        tcp dport {port} counter drop
    }}
}}
"""


def tree(device: str, *, forward: int = 1, port: int = 23, **more: str) -> DeviceTree:
    """A small tree; ``more`` are further files, underscores standing for slashes."""
    files = {
        "etc/hostname": (f"{device}\n", 0o644),
        "etc/nccl.conf": ("NCCL_DEBUG=WARN\n", 0o644),
        "etc/nftables.conf": (FILTER.format(port=port), 0o640),
        "etc/sysctl.d/90-lab.conf": (f"net.ipv4.ip_forward = {forward}\nnet.ipv4.tcp_rmem = 4096\t9999 99999\n", 0o644),
        **{name.replace("_", "/"): (text, 0o600) for name, text in more.items()},
    }
    return tuple(Artifact(device, path, text.encode(), "test", mode) for path, (text, mode) in sorted(files.items()))


@contextlib.contextmanager
def fleet_of(*names: str) -> Iterator[SshFleet]:
    with SshFleet({name: f"10.213.1.{index}" for index, name in enumerate(names, 1)}) as fleet, fleet.as_controller():
        yield fleet


def target_for(
    fleet: SshFleet, folder: Path, known_hosts: Path | None = None, run_timeout_s: int = 120, shard_hosts: int = 192
) -> AnsibleTarget:
    addresses = {name: host.address for name, host in fleet.hosts.items()}
    access = Access(addresses, fleet.private_key, known_hosts or fleet.known_hosts)
    return AnsibleTarget(
        folder / "runs", access, run_timeout_s=run_timeout_s, shard_hosts=shard_hosts, connect_timeout_s=10
    )


def observed(fleet: SshFleet, host: str) -> Mapping[str, str]:
    """What a host is seen to hold, past Ansible: files with modes, running sysctls, packet filter and name."""
    script = {
        "files": "cd /etc; find . -xdev -newer /etc/ssh/fleet_host_key -type f -printf '%m %U ' -exec sha256sum {} +",
        "forward": "cat /proc/sys/net/ipv4/ip_forward",
        "rmem": "cat /proc/sys/net/ipv4/tcp_rmem",
        "filter": "nft --stateless list ruleset",
        "name": "hostname",
    }
    return {what: fleet.run(host, "sh", "-c", f"{command} 2>/dev/null || true") for what, command in script.items()}


def test_a_tree_arrives_with_modes_sysctls_filter_and_name_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    with fleet_of("n0", "n1") as fleet:
        target = target_for(fleet, tmp_path)
        batch = {name: tree(name) for name in fleet.hosts}
        before = observed(fleet, "n0")

        foreseen = target.apply(batch, check=True)["n0"]
        assert observed(fleet, "n0") == before
        assert not fleet.run("n0", "sh", "-c", "ls /var/lib/clusterwright 2>/dev/null || true")

        first = target.apply(batch)
        assert {name: outcome.status for name, outcome in first.items()} == dict.fromkeys(batch, Status.APPLIED)
        assert first["n0"].changed == (
            "etc/hostname",
            "etc/nccl.conf",
            "etc/nftables.conf",
            "etc/sysctl.d/90-lab.conf",
            "hostname:n0",
            "nftables:running",
            "sysctl:net.ipv4.ip_forward",
            "sysctl:net.ipv4.tcp_rmem",
        )
        assert foreseen.changed == first["n0"].changed
        assert (
            "--- /etc/nccl.conf (absent)\n+++ /etc/nccl.conf (mode 0644)\n@@ -0,0 +1 @@\n+NCCL_DEBUG=WARN\n"
            in foreseen.diff
        )
        assert "--- sysctl:net.ipv4.ip_forward (running)\n" in foreseen.diff
        assert first["n0"].digest == tree_digest(batch["n0"])

        assert fleet.run("n1", "hostname") == "n1\n"
        assert fleet.run("n1", "cat", "/proc/sys/net/ipv4/ip_forward") == "1\n"
        assert fleet.run("n1", "cat", "/proc/sys/net/ipv4/tcp_rmem").split() == ["4096", "9999", "99999"]
        assert "tcp dport 23 counter" in fleet.run("n1", "nft", "list", "ruleset")
        assert fleet.run("n1", "stat", "-c", "%a %U", "/etc/nftables.conf", "/etc/nccl.conf") == "640 root\n644 root\n"

        second = target.apply(batch)
        assert {outcome.status for outcome in second.values()} == {Status.UNCHANGED}
        assert target.read(batch)["n1"] == Holding({artifact.path: artifact.sha256 for artifact in batch["n1"]})


def test_drift_of_the_running_kernel_is_repaired_and_named_while_the_files_are_right(tmp_path: Path) -> None:
    with fleet_of("n0") as fleet:
        target = target_for(fleet, tmp_path)
        assert target.apply({"n0": tree("n0")})["n0"].ok
        fleet.run("n0", "sysctl", "-w", "net.ipv4.ip_forward=0")
        fleet.run("n0", "nft", "insert", "rule", "inet", "lab", "input", "tcp", "dport", "23", "accept")
        fleet.run("n0", "chmod", "666", "/etc/nccl.conf")
        drifted = ("etc/nccl.conf", "nftables:running", "sysctl:net.ipv4.ip_forward")

        found = target.apply({"n0": tree("n0")}, check=True)["n0"]
        assert found.changed == drifted
        assert "--- /etc/nccl.conf (mode 0666)\n+++ /etc/nccl.conf (mode 0644)\n" in found.diff
        assert "\n-\t\ttcp dport 23 accept\n" in found.diff

        outcome = target.apply({"n0": tree("n0")})["n0"]

        assert (outcome.status, outcome.changed) == (Status.APPLIED, drifted)
        assert fleet.run("n0", "cat", "/proc/sys/net/ipv4/ip_forward") == "1\n"
        assert "dport 23 accept" not in fleet.run("n0", "nft", "list", "ruleset")


def test_hosts_out_of_reach_are_named_while_the_others_succeed(tmp_path: Path) -> None:
    with fleet_of("cut", "impostor", "well") as fleet:
        fleet.cut("cut")
        known_hosts = tmp_path / "known_hosts"
        keys = fleet.known_hosts.read_text().splitlines()
        keys[1] = keys[1].split()[0] + " " + keys[2].split(maxsplit=1)[1]
        known_hosts.write_text("\n".join(keys) + "\n")
        target = target_for(fleet, tmp_path, known_hosts)

        outcomes = target.apply({name: tree(name) for name in ("cut", "impostor", "well", "nowhere")})

        assert {name: outcome.status for name, outcome in outcomes.items()} == {
            "cut": Status.UNREACHABLE,
            "impostor": Status.UNREACHABLE,
            "well": Status.APPLIED,
            "nowhere": Status.UNREACHABLE,
        }
        assert "timed out" in outcomes["cut"].message or "No route to host" in outcomes["cut"].message
        # Where ssh ends while Ansible still writes to it, Ansible tells that instead of what ssh said.
        assert re.search("Host key verification failed|could not be sent .* Broken pipe", outcomes["impostor"].message)
        assert fleet.run("impostor", "hostname") == "unnamed\n"
        held = target.read(["cut", "well"])
        assert isinstance(held["cut"], Unreachable)
        assert held["well"] == Holding({artifact.path: artifact.sha256 for artifact in tree("well")})


BROKEN = {
    "syntax": (
        {"etc/nftables.conf": "flush ruleset\ntable inet lab {\n  chain input { typo }\n}\n"},
        "/etc/nftables.conf:3:",
    ),
    "adding": ({"etc/nftables.conf": "table inet lab {\n}\n"}, "loaded twice it would hold every rule twice"),
    "value": (
        {"etc/sysctl.d/95-late.conf": "net.ipv4.tcp_sack = banana\n"},
        "sysctl net.ipv4.tcp_sack = banana: Invalid argument",
    ),
    "key": ({"etc/sysctl.d/95-late.conf": "net.ipv4.no_such = 1\n"}, "sysctl net.ipv4.no_such = 1: No such file"),
    "line": ({"etc/sysctl.d/95-late.conf": "what is this\n"}, "/etc/sysctl.d/95-late.conf:1: 'what is this'"),
    "module": ({"etc/modules-load.d/x.conf": "no_such_module\n"}, "kernel module no_such_module:"),
    "parent": ({"etc/passwd/below": "a file is in the way of this folder\n"}, "/etc/passwd"),
    "folder": ({"etc/ssh": "a folder is in the way of this file\n"}, "/etc/ssh is neither a file nor a link"),
    "outside": ({"etc/../../x": "x\n"}, "'etc/../../x', which is not a plain file below the root"),
    "name": ({"etc/hostname": "not a name\n"}, "/etc/hostname: 'not a name' is not a host name"),
}


def test_trees_that_fail_leave_the_previous_configuration_whole(tmp_path: Path) -> None:
    with fleet_of(*BROKEN, "well") as fleet:
        target = target_for(fleet, tmp_path, shard_hosts=6)  # the fleet in two runs side by side
        good = {name: tree(name) for name in fleet.hosts}
        assert {outcome.status for outcome in target.apply(good).values()} == {Status.APPLIED}
        before = {name: observed(fleet, name) for name in BROKEN}
        worse = {name: {item.path: item for item in tree(name, forward=0, port=24)} for name in fleet.hosts}
        for name, (files, _) in BROKEN.items():
            worse[name] |= {path: Artifact(name, path, text.encode(), "test") for path, text in files.items()}

        fleet.run("value", "ln", "-s", "/run/elsewhere", "/etc/link.conf")
        worse["value"]["etc/link.conf"] = Artifact("value", "etc/link.conf", b"in the place of a link\n", "test")

        outcomes = target.apply({name: tuple(files.values()) for name, files in worse.items()})

        assert outcomes["well"].status is Status.APPLIED
        assert {name: outcomes[name].status for name in BROKEN} == dict.fromkeys(BROKEN, Status.FAILED)
        assert {name: message in outcomes[name].message for name, (_, message) in BROKEN.items()} == dict.fromkeys(
            BROKEN, True
        ), outcomes
        assert {name: observed(fleet, name) for name in BROKEN} == before
        assert fleet.run("value", "readlink", "/etc/link.conf") == "/run/elsewhere\n"
        again = target.apply({name: good[name] for name in BROKEN})
        assert {outcome.status for outcome in again.values()} == {Status.UNCHANGED}


def test_only_files_that_were_put_there_are_ever_removed(tmp_path: Path) -> None:
    with fleet_of("n0") as fleet:
        target = target_for(fleet, tmp_path)
        fleet.run("n0", "sh", "-c", "echo own > /etc/sysctl.d/10-own.conf")
        assert target.apply({"n0": tree("n0", etc_nccl_d_extra="x\n")})["n0"].ok

        outcome = target.apply({"n0": tree("n0")})["n0"]

        assert (outcome.status, outcome.changed) == (Status.APPLIED, ("etc/nccl/d/extra",))
        assert fleet.run("n0", "cat", "/etc/sysctl.d/10-own.conf") == "own\n"
        assert target.apply({"n0": ()})["n0"].digest == tree_digest(())
        assert fleet.run("n0", "cat", "/etc/sysctl.d/10-own.conf") == "own\n"
        assert fleet.run("n0", "sh", "-c", "ls /etc/nccl.conf 2>&1 || true").endswith("No such file or directory\n")


def test_a_secret_is_shown_in_no_diff_and_stays_in_no_folder_of_the_control_node(tmp_path: Path) -> None:
    with fleet_of("n0") as fleet:
        target = target_for(fleet, tmp_path)
        wanted = tree("n0", etc_psk="hunter2-hunter2\n")
        foreseen = target.apply({"n0": wanted}, check=True)["n0"]
        assert target.apply({"n0": wanted})["n0"].ok
        assert "/etc/psk (mode 0600)" in foreseen.diff
        assert "hunter2" not in foreseen.diff
        result = subprocess.run(["grep", "-rl", "hunter2", tmp_path], capture_output=True, text=True, check=False)
        assert result.stdout == ""
        assert not [*tmp_path.rglob("bundles"), *tmp_path.rglob("command")]


def test_a_run_that_is_ended_from_outside_is_unknown_never_success(tmp_path: Path) -> None:
    with fleet_of("n0") as fleet:
        fleet.run("n0", "mkdir", "-p", "/var/lib/clusterwright")
        fleet.run("n0", "sh", "-c", "flock /var/lib/clusterwright/lock sleep 30 >/dev/null 2>&1 &")
        outcome = target_for(fleet, tmp_path, run_timeout_s=3).apply({"n0": tree("n0")})["n0"]
        assert outcome.status is Status.UNKNOWN
        assert outcome.message.startswith("Ansible did not come to its end")


def test_a_running_systemd_and_networkd_read_what_changed(tmp_path: Path) -> None:
    unit = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nEnvironment=ROUND={}\n"
    network = "[Match]\nName=lo\n[Network]\nDescription={}\n"

    def systemd_tree(turn: int) -> DeviceTree:
        return (
            *tree("n0"),
            Artifact("n0", "etc/systemd/system/ours.service", unit.format(turn).encode(), "test"),
            Artifact("n0", "etc/systemd/network/20-lo.network", network.format(turn).encode(), "test"),
        )

    with SshFleet({"n0": "10.213.1.1"}, systemd=True) as fleet, fleet.as_controller():
        target = target_for(fleet, tmp_path)
        fleet.run("n0", "systemctl", "start", "systemd-networkd")
        first = target.apply({"n0": systemd_tree(1)})["n0"]
        assert first.ok, first.message
        assert "systemd:networkd" in first.changed
        fleet.run("n0", "systemctl", "start", "ours.service")
        assert "ROUND=1" in fleet.run("n0", "systemctl", "show", "--property=Environment", "ours.service")

        second = target.apply({"n0": systemd_tree(2)})["n0"]

        assert second.changed == (
            "etc/systemd/network/20-lo.network",
            "etc/systemd/system/ours.service",
            "systemd:networkd",
            "systemd:units",
        )
        assert "ROUND=2" in fleet.run("n0", "systemctl", "show", "--property=Environment", "ours.service")
        assert "20-lo.network" in fleet.run("n0", "networkctl", "status", "lo")
        # A run that was killed before systemd was told: the files are right, and what runs is not.
        fleet.run(
            "n0", "sh", "-c", "sed -i s/ROUND=2/ROUND=3/ /etc/systemd/system/ours.service; systemctl daemon-reload"
        )
        fleet.run("n0", "sed", "-i", "s/ROUND=3/ROUND=2/", "/etc/systemd/system/ours.service")
        assert target.apply({"n0": systemd_tree(2)})["n0"].changed == ("systemd:units",)
        assert target.apply({"n0": systemd_tree(2)})["n0"].status is Status.UNCHANGED


def test_a_fleet_whose_owner_was_killed_is_removed_by_the_next(tmp_path: Path) -> None:
    script = (
        "from tests.lab.sshfleet import SshFleet\n"
        "with SshFleet({'left': '10.213.1.1'}) as fleet:\n"
        "    print(fleet.hosts['left'].namespace, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        namespace = owner.stdout.readline().strip()
        owner.kill()
    assert (Path("/run/netns") / namespace).exists()
    with fleet_of("next"):
        assert not (Path("/run/netns") / namespace).exists()


def test_an_account_with_the_documented_line_of_sudoers_is_enough(tmp_path: Path) -> None:
    documented = (Path(__file__).parents[3] / "docs/deploy.md").read_text()
    (sudoers,) = [line for line in documented.splitlines() if line.startswith("deploy ALL=(root)")]
    with fleet_of("n0") as fleet:
        assert fleet.run("n0", "sh", "-c", "command -v sudo || true"), "sudo is missing: install the package sudo"
        # Without a password (and, unlike a locked account, open to keys).
        fleet.run("n0", "useradd", "--create-home", "--password", "*", "deploy")
        fleet.run("n0", "chmod", "644", "/etc/ssh/fleet_authorized_keys")
        fleet.run("n0", "sh", "-c", 'echo "$0" > /etc/sudoers.d/clusterwright', sudoers)
        fleet.run("n0", "visudo", "--check", "--file=/etc/sudoers.d/clusterwright")
        target = target_for(fleet, tmp_path)
        target = dataclasses.replace(target, access=dataclasses.replace(target.access, user="deploy"))

        outcome = target.apply({"n0": tree("n0")})["n0"]

        assert outcome.status is Status.APPLIED, outcome
        assert fleet.run("n0", "stat", "-c", "%U %a", "/etc/nftables.conf") == "root 640\n"
        other = fleet.run("n0", "sh", "-c", "su -s /bin/sh deploy -c 'sudo -n id' 2>&1 || true")
        assert "a password is required" in other


def test_nothing_of_the_callers_shell_reaches_a_run_or_stays_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these stopped a run, changed it or left files; a killed process left the secret in the run's folder."""
    log = tmp_path / "ansible.log"
    for name, value in {
        "ANSIBLE_STDOUT_CALLBACK": "community.general.unixy",
        "ANSIBLE_CALLBACK_PLUGINS": str(tmp_path),
        "ANSIBLE_STRATEGY": "mitogen_linear",
        "ANSIBLE_BECOME_METHOD": "su",
        "ANSIBLE_KEEP_REMOTE_FILES": "1",
        "ANSIBLE_LOG_PATH": str(log),
        "ANSIBLE_REMOTE_USER": "nobody",
        "ANSIBLE_HOST_KEY_CHECKING": "False",
        "AWX_LIB_DIRECTORY": str(tmp_path),
        "LC_ALL": "en_US.ISO-8859-1",
        "SITE_SECRET": "MARKER-7f3a",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("clusterwright.deploy.ansible.folder._forget", lambda path: None)  # as after kill -9
    # A host sees this machine's folders below its own: those of other runs here are named ansible-local-*.
    remote_files = ("n0", "sh", "-c", "ls -d /root/.ansible/tmp/ansible-tmp-* 2>/dev/null || true")
    with fleet_of("n0") as fleet:
        before = fleet.run(*remote_files)
        outcome = target_for(fleet, tmp_path).apply({"n0": tree("n0")})["n0"]
        assert outcome.status is Status.APPLIED, outcome.message
        assert fleet.run(*remote_files) == before
    assert not log.exists()
    noted = [path for path in (tmp_path / "runs").rglob("*") if path.is_file() and b"MARKER-7f3a" in path.read_bytes()]
    assert not noted
    assert list((tmp_path / "runs").rglob("command")), "what ansible-runner notes was looked at"
