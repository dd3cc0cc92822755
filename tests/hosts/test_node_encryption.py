"""What nodes get for encrypted mounts, each file judged by what reads it: systemd, the shell and findmnt."""

from __future__ import annotations

import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

NODE = "gpu-p00r00n0"
UNITS = "etc/systemd/system"
OVERLAY = """
mounts:
  - name: corpus
    mountpoint: /mnt/corpus
    nodes: [compute]
    system: storage
    export: "corpus:/all"
    type: fuse.tectonic
    options: [ro]
    protection: {kind: client-side-aead}
  - name: results
    mountpoint: /mnt/results
    nodes: [compute]
    system: storage
    export: /results
    type: nfs4
    options: ["vers=4.2", "proto=tcp", hard, nodev]
    protection: {kind: krb5p}
datasets:
  - name: training-data
    mount: corpus
    owner: data-platform
    review: {reviewer: privacy-review, date: 2026-03-02, reference: PR-0042, expires: 2026-12-31}
    key: training-key
keys:
  - {name: training-key, kind: data, owner: data-platform, rotate_days: 30, delete_days: 180, wrapped_by: storage-kek}
encryption:
  kerberos: {realm: LAB.EXAMPLE.NET, kdcs: [kdc0.lab.example.net, kdc1.lab.example.net]}
  scratch:
    - {name: local, nodes: [compute], device: /dev/disk/by-partlabel/scratch, mountpoint: /scratch}
"""
GATE = "usr/local/libexec/clusterwright/dataset-gate"
RECORD = "etc/clusterwright/datasets/training-data.record"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("spec"), "lab-roce", OVERLAY)


@pytest.fixture(scope="module")
def root(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node's files, with stand-ins for what its packages bring."""
    folder = tmp_path_factory.mktemp("root")
    for artifact in Rendering(plan).of_device(NODE):
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
        path.chmod(artifact.mode)
    return folder


def options_of(root: Path, unit: str) -> list[str]:
    text = (root / UNITS / unit).read_text()
    return next(line for line in text.splitlines() if line.startswith("Options="))[8:].split(",")


def test_each_protection_asks_mount_for_what_it_needs(root: Path) -> None:
    assert "xprtsec=mtls" in options_of(root, "home.mount")
    assert "sec=krb5p" in options_of(root, "mnt-results.mount")
    assert options_of(root, "mnt-corpus.mount") == ["ro", "_netdev"]


def test_a_mount_waits_for_who_protects_it(root: Path) -> None:
    needs = {
        "home.mount": "tlshd.service",
        "mnt-results.mount": "rpc-gssd.service",
        "mnt-corpus.mount": "dataset-gate@training-data.service",
    }
    for unit, needed in needs.items():
        lines = (root / UNITS / unit).read_text().splitlines()
        assert f"Requires={needed}" in lines
        assert f"After={needed}" in lines


def test_systemd_accepts_every_unit(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "root"
    shutil.copytree(root, folder)
    for unit in ("tlshd", "rpc-gssd", "gssproxy", "nftables"):
        text = f"[Unit]\nDescription=stand-in for {unit}\n[Service]\nExecStart=/bin/true\n"
        (folder / UNITS / f"{unit}.service").write_text(text)
    shutil.copytree("/lib/systemd/system", folder / "lib/systemd/system", symlinks=True)
    programs = ["bin/true", "sbin/swapoff", "sbin/cryptsetup", "sbin/mkfs.ext4", "bin/mount", "bin/umount"]
    programs += ["bin/grep", "usr/sbin/tlshd"]
    for program in programs:
        (folder / program).parent.mkdir(parents=True, exist_ok=True)
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    names = ["home.mount", "mnt-corpus.mount", "mnt-results.mount", "scratch.mount", "no-swap.service"]
    names += ["scratch-local.service", "dataset-gate@training-data.service", "tlshd.service"]
    run = subprocess.run(
        ["systemd-analyze", f"--root={folder}", "verify", "--man=no", "--recursive-errors=no", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr


def gate(root: Path, record: Path, today: str = "2026-06-01") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "DATASET_GATE_TODAY": today}
    return subprocess.run([root / GATE, record], env=environment, capture_output=True, text=True, check=False)


def test_the_gate_lets_a_reviewed_dataset_pass(root: Path) -> None:
    found = gate(root, root / RECORD)
    assert found.returncode == 0, found.stderr
    assert gate(root, root / RECORD, "2026-12-31").returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("reviewer=privacy-review\n", "", "names no reviewer"),
        ("reviewed=2026-03-02\n", "", "names no reviewed"),
        ("reference=PR-0042\n", "reference=\n", "names no reference"),
        ("owner=data-platform\n", "", "names no owner"),
        ("protection=client-side-aead", "protection=none", "not encrypted on its way"),
        ("key=training-key\n", "", "not encrypted at rest"),
        ("delete_days=180\n", "", "never deleted"),
    ],
)
def test_the_gate_refuses_what_is_not_recorded(root: Path, tmp_path: Path, old: str, new: str, reason: str) -> None:
    text = (root / RECORD).read_text()
    assert old in text
    record = tmp_path / "training-data.record"
    record.write_text(text.replace(old, new))
    found = gate(root, record)
    assert found.returncode == 1
    assert reason in found.stderr


def test_the_gate_refuses_a_missing_record_and_one_that_has_ended(root: Path, tmp_path: Path) -> None:
    assert "no record of a privacy review" in gate(root, tmp_path / "none.record").stderr
    assert "its review ended on 2026-12-31" in gate(root, root / RECORD, "2027-01-01").stderr


def test_findmnt_reads_the_fstab(root: Path) -> None:
    command = [
        "findmnt",
        "--tab-file",
        str(root / "etc/clusterwright/fstab"),
        "--raw",
        "--noheadings",
        "-o",
        "TARGET,FSTYPE",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["/home nfs4", "/mnt/corpus fuse.tectonic", "/mnt/results nfs4"]


def test_tlshd_reads_its_files_from_the_sections_that_its_manual_names(root: Path) -> None:
    # tlshd reads GLib key files; without groups that repeat, Python's parser reads the same.
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # the documented way to keep letters as they are
    parser.read(root / "etc/tlshd/config")
    assert parser.sections() == ["debug", "authenticate", "authenticate.client"]
    assert dict(parser["authenticate.client"]) == {
        "x509.truststore": "/etc/pki/clusterwright/authorities.pem",
        "x509.crl": "/etc/pki/clusterwright/withdrawn.pem",
        "x509.certificate": "/etc/pki/clusterwright/node.pem",
        "x509.private_key": "/etc/pki/clusterwright/node.key",
    }
    assert (root / "etc/tlshd/config").stat().st_mode & 0o777 == 0o600


def test_the_key_of_scratch_is_drawn_from_the_kernel_and_written_nowhere(root: Path) -> None:
    text = (root / UNITS / "scratch-local.service").read_text()
    assert "cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file /dev/urandom" in text
    assert not (root / "etc/crypttab").exists()
    assert not [path for path in root.rglob("*") if path.suffix in (".key", ".pem") and path.is_file()]
