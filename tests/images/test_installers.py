"""What an installer asks for and answers, judged by the program that reads it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.debian_package import unpacked
from tests.images.definition_files import files_of, first_server, run
from tests.plans import plan_of, plan_with


def test_cloud_init_takes_the_autoinstall(tmp_path: Path) -> None:
    plan = plan_of("rsc-phase1")
    files = files_of(plan, first_server(plan))
    (path,) = (path for path in files if path.endswith("/user-data"))
    place = tmp_path / "user-data"
    place.write_bytes(files[path].content)
    done = run("cloud-init", "schema", "-c", place)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_kickstart_is_understood(tmp_path: Path) -> None:
    plan = plan_of("roce-24k")
    files = files_of(plan, first_server(plan))
    (path,) = (path for path in files if path.endswith("/ks.cfg"))
    place = tmp_path / "ks.cfg"
    place.write_bytes(files[path].content)
    done = run("ksvalidator", "--version", "RHEL10", place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "deprecated" not in f"{done.stdout}{done.stderr}".lower()
    spoiled = tmp_path / "spoiled.cfg"
    spoiled.write_text(place.read_text().replace("bootloader", "bootloaders"))
    assert run("ksvalidator", "--version", "RHEL10", spoiled).returncode != 0
    assert "\nnftables\n" in place.read_text()
    # Archives carry no labels: an installed node gets them anew, one in memory has no policy to ask for them.
    post = place.read_text().partition("%post")[2]
    assert 0 < post.index("cpio --extract") < post.index("\nsetfiles -F ")
    scripts = [artifact.content for path, artifact in files.items() if "/by-mac/" in path]
    assert scripts
    assert all(b" selinux=0 " in script for script in scripts)


def at_an_installer(script: str, folder: Path, *, is_marked: bool = True) -> subprocess.CompletedProcess[str]:
    """A script as an installer runs it on a machine of ``folder``'s programs, whose mark lies on the server or not."""
    (folder / "cmdline").write_text("quiet clusterwright.mark=http://server/installing/n0 clusterwright.node=n0\n")
    curl = f'echo "$*" >> {folder}/asked\nexit {0 if is_marked else 22}\n'
    (folder / "curl").write_text(f"#!/bin/sh\n{curl}")
    (folder / "curl").chmod(0o755)
    script = f"mount --bind {folder}/cmdline /proc/cmdline\n{script}"
    return run("unshare", "--mount", "sh", "-c", script, PATH=f"{folder}:{os.environ['PATH']}")


LISTED = {
    "nvme1n1": "3840755982336 nvme1n1 disk 0 0",
    "nvme0n1": "1920383410176 nvme0n1 disk 0 0",
    "sda": "62008590336 sda disk 1 0",  # a stick
    "sr0": "1073741312 sr0 rom 1 0",
    "zram0": "8589934592 zram0 disk 0 0",
}


@pytest.mark.parametrize(("disks", "chosen"), [("nvme1n1 nvme0n1 sda sr0 zram0", "nvme0n1"), ("sda sr0 zram0", None)])
def test_an_installer_takes_one_disk_and_no_swap(tmp_path: Path, disks: str, chosen: str | None) -> None:
    plan = plan_of("roce-24k")
    files = files_of(plan, first_server(plan))
    text = next(item.content.decode() for path, item in files.items() if path.endswith("/ks.cfg"))
    assert "--noswap" in text
    script = text.split("%pre")[1].split("%end")[0].split("\n", 1)[1].replace("/tmp/disk.ks", f"{tmp_path}/disk.ks")
    listing = "\n".join(LISTED[disk] for disk in disks.split())
    (tmp_path / "lsblk").write_text(f"#!/bin/sh\ncat <<'END'\n{listing}\nEND\n")
    (tmp_path / "lsblk").chmod(0o755)
    done = at_an_installer(script, tmp_path)
    assert (done.returncode == 0) is (chosen is not None)
    assert (tmp_path / "asked").exists() is (chosen is not None)  # its mark stays where nothing is wiped
    if chosen is not None:
        asked = (tmp_path / "disk.ks").read_text()
        assert asked.splitlines() == [
            f"ignoredisk --only-use={chosen}",
            "zerombr",
            f"clearpart --all --drives={chosen} --initlabel",
            "autopart --type=plain --fstype=xfs --noswap",
        ]
        (tmp_path / "ks.cfg").write_text(asked)
        assert run("ksvalidator", "--version", "RHEL10", tmp_path / "ks.cfg").returncode == 0


PATHS = tuple(f"/dev/disk/by-path/pci-0000:0{at}:00.0-nvme-1" for at in (1, 2))


def answers(tmp_path: Path, spec: str, disks: tuple[str, ...], name: str) -> str:
    """An answer file for an image that names its disks."""
    images = f"images:\n  - {{name: training, delivery: disk, disks: {json.dumps(disks)}}}\n"
    plan = plan_with(tmp_path, spec, images)
    return next(
        item.content.decode() for path, item in files_of(plan, first_server(plan)).items() if path.endswith(f"/{name}")
    )


@pytest.mark.parametrize("disks", [PATHS[:1], PATHS])
def test_an_installer_takes_the_disks_that_the_spec_names(tmp_path: Path, disks: tuple[str, ...]) -> None:
    text = answers(tmp_path, "roce-24k", disks, "ks.cfg")
    script = text.split("%pre")[1].split("%end")[0].split("\n", 1)[1].replace("/tmp/disk.ks", f"{tmp_path}/disk.ks")
    lines = "".join(f"*{path}) echo nvme{at}n1 ;;\n" for at, path in enumerate(disks, start=1))
    for listed in (lines, ""):  # there, and on a machine that has no such disk
        (tmp_path / "lsblk").write_text(f'#!/bin/sh\ncase "$*" in\n{listed}*) exit 32 ;;\nesac\n')
        (tmp_path / "lsblk").chmod(0o755)
        (tmp_path / "disk.ks").unlink(missing_ok=True)
        done = at_an_installer(script, tmp_path)
        assert (done.returncode == 0) is bool(listed)
        assert (tmp_path / "disk.ks").exists() is bool(listed)  # nothing is wiped without it
        if listed:
            asked = (tmp_path / "disk.ks").read_text()
            names = ",".join(f"nvme{at}n1" for at in range(1, len(disks) + 1))
            assert {f"ignoredisk --only-use={names}", f"clearpart --all --drives={names} --initlabel"} <= {
                *asked.splitlines()
            }
            assert asked.count("--level=RAID1") == (3 if len(disks) == 2 else 0)
            assert "swap" not in asked.replace("--noswap", "")
            (tmp_path / "ks.cfg").write_text(asked)
            assert run("ksvalidator", "--version", "RHEL10", tmp_path / "ks.cfg").returncode == 0


@pytest.mark.parametrize("disks", [PATHS[:1], PATHS])
def test_an_autoinstall_takes_the_disks_that_the_spec_names(tmp_path: Path, disks: tuple[str, ...]) -> None:
    """Its early commands write kernel names into the answers, which the installer then reads again."""
    text = answers(tmp_path, "rsc-phase1", disks, "user-data")
    (tmp_path / "user-data").write_text(text)
    assert run("cloud-init", "schema", "-c", tmp_path / "user-data").returncode == 0
    (script,) = yaml.safe_load(text)["autoinstall"]["early-commands"]
    lines = "".join(f"*{path}) echo /dev/nvme{number}n1 ;;\n" for number, path in enumerate(disks, start=1))
    (tmp_path / "lsblk").write_text(f'#!/bin/sh\ncase "$*" in\n{lines}*) exit 32 ;;\nesac\n')
    (tmp_path / "lsblk").chmod(0o755)
    script = script.replace("/autoinstall.yaml", str(tmp_path / "user-data"))
    done = at_an_installer(script, tmp_path)
    assert done.returncode == 0, done.stderr
    storage = yaml.safe_load((tmp_path / "user-data").read_text())["autoinstall"]["storage"]
    assert storage["swap"] == {"size": 0}
    if len(disks) == 1:
        assert storage["layout"] == {"name": "direct", "match": {"path": "/dev/nvme1n1"}}
        return
    by_id = {each["id"]: each for each in storage["config"]}
    assert [each["path"] for each in by_id.values() if each["type"] == "disk"] == ["/dev/nvme1n1", "/dev/nvme2n1"]
    for each in by_id.values():
        assert {each[key] for key in ("device", "volume") if key in each} | {*each.get("devices", ())} <= set(by_id)
    mirror = by_id[by_id[by_id["mount-root"]["device"]]["volume"]]
    assert (mirror["raidlevel"], [by_id[part]["device"] for part in mirror["devices"]]) == ("raid1", ["disk1", "disk2"])


@pytest.mark.parametrize(("spec", "name"), [("roce-24k", "ks.cfg"), ("rsc-phase1", "user-data")])
def test_an_installer_wipes_nothing_without_the_mark(tmp_path: Path, spec: str, name: str) -> None:
    """As on a machine that starts its installer again, or that somebody started it on by hand."""
    text = answers(tmp_path, spec, PATHS[:1], name)
    if name == "ks.cfg":
        script = text.split("%pre")[1].split("%end")[0].split("\n", 1)[1].replace("/tmp/disk.ks", f"{tmp_path}/disk.ks")
        assert "--erroronfail" in text.split("%pre")[1].partition("\n")[0]
    else:
        (script,) = yaml.safe_load(text)["autoinstall"]["early-commands"]
        (tmp_path / "user-data").write_text(text)
        script = script.replace("/autoinstall.yaml", str(tmp_path / "user-data"))
    (tmp_path / "lsblk").write_text("#!/bin/sh\necho nvme1n1\n")
    (tmp_path / "lsblk").chmod(0o755)
    done = at_an_installer(script, tmp_path, is_marked=False)
    assert done.returncode != 0
    assert not (tmp_path / "disk.ks").exists()
    asked = (tmp_path / "asked").read_text()
    assert asked.endswith("--request DELETE http://server/installing/n0\n")


def _initrd_network(address: str) -> str:
    """What an initrd of Red Hat's family makes of the kernel's argument: NetworkManager's generator."""
    program = unpacked("network-manager") / "usr/lib/NetworkManager/nm-initrd-generator"
    libraries = unpacked("libnm0") / "usr/lib/x86_64-linux-gnu"
    return run(str(program), "-s", "--", address, LD_LIBRARY_PATH=str(libraries)).stdout


@pytest.mark.parametrize(("spec", "absent"), [("rsc-phase1", "ipv6"), ("roce-24k", "ipv4")])
def test_an_installer_needs_no_ip_version_that_the_network_lacks(tmp_path: Path, spec: str, absent: str) -> None:
    images = "images:\n  - {name: training, delivery: disk, distribution: Rocky 9}\n"
    plan = plan_with(tmp_path, spec, images)
    files = files_of(plan, first_server(plan))
    script = next(item.content.decode() for path, item in files.items() if "/by-mac/" in path)
    (address,) = set(re.findall(r" (ip=\S+)", script))
    section = _initrd_network(address).partition(f"[{absent}]")[2].partition("[")[0]
    assert section
    assert "may-fail=false" not in section
    assert "may-fail=false" in _initrd_network(address)
    if absent == "ipv4":
        assert "method=disabled" in section
