"""Running configurations are read by an account without rights, kept by date, and compared."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.cli.in_process import command
from tests.deploy.ansible.test_fleet import fleet_of
from tests.lab.sshfleet import SshFleet
from tests.pages.shown import assert_part, shown_by

from clusterwright import data_files

LAB = data_files.folder("inventory") / "lab-roce.yaml"
NODE, SILENT = "gpu-p00r00n0", "gpu-p00r00n1"


def access(folder: Path, fleet: SshFleet, names: list[str]) -> None:
    hosts = fleet.hosts
    lines = "".join(f'  {name}: "{hosts[name].address}"\n' for name in names)
    (folder / "access.yaml").write_text(
        f"private_key: {fleet.private_key}\nknown_hosts: {fleet.known_hosts}\nuser: reader\naddresses:\n{lines}"
    )


def test_an_account_without_rights_reads_what_runs(tmp_path: Path) -> None:
    with fleet_of(NODE, SILENT) as fleet:
        fleet.run(NODE, "useradd", "--create-home", "--password", "*", "reader")
        fleet.run(NODE, "chmod", "644", "/etc/ssh/fleet_authorized_keys")
        page = (Path(__file__).parents[3] / "docs/drift.md").read_text()
        (allowed,) = [line for line in page.splitlines() if line.startswith("reader ALL=(root)")]
        fleet.run(NODE, "sh", "-c", 'echo "$0" > /etc/sudoers.d/reader', allowed)
        fleet.run(NODE, "sh", "-c", "echo NCCL_IB_TC=96 > /etc/nccl.conf")
        fleet.run(NODE, "nft", "add", "table", "inet", "clusterwright")
        fleet.cut(SILENT)
        access(tmp_path, fleet, [NODE, SILENT])
        result = command("observe", LAB, "--collect", "--access", "access.yaml", cwd=tmp_path)
        holding = fleet.run(NODE, "sh", "-c", "ls -A /home/reader")
    assert result.returncode == 2, result.stderr
    assert_part(shown_by("drift.md", "clusterwright observe cluster.yaml --collect"), result.stderr + result.stdout)
    assert f"{SILENT}: not compared: " in result.stderr
    assert f"{NODE} etc/nccl.conf: NCCL_IB_TC" in result.stdout
    assert "etc/nftables.conf" in result.stdout
    (moment,) = (tmp_path / "collected").iterdir()
    assert {file.name for file in (moment / NODE).iterdir()} == {"nft-ruleset", "sysctl", "etc"}
    assert stat.S_IMODE(moment.stat().st_mode) == 0o700
    assert stat.S_IMODE((moment / NODE / "sysctl").stat().st_mode) == 0o600
    assert not {".ansible", "collected"} & set(holding.split())
    again = command("observe", LAB, "--running", moment, cwd=tmp_path)
    assert again.returncode == 1
    assert again.stdout == result.stdout


def test_access_and_collect_go_together(tmp_path: Path) -> None:
    for words in (("--collect",), ("--access", os.fspath(tmp_path / "a.yaml"), "--lldp", "x")):
        result = command("observe", LAB, *words, cwd=tmp_path)
        assert result.returncode == 2
        assert "give both" in result.stderr
