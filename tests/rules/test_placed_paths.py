"""Paths that a spec gives devices: which of them belong to the system, and which are in each other's way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.rules.nodes.placed_paths import FILE, FOLDER, MOUNTPOINT
from clusterwright.spec.load import load_spec
from clusterwright.spec.schema.string_kinds import kinded_strings

INVENTORY = data_files.folder("inventory")
SCHEMA = json.loads((INVENTORY / "schema/cluster.schema.json").read_text())
PLACED = (MOUNTPOINT, FOLDER, FILE)


def codes(tmp_path: Path, text: str) -> set[str]:
    (tmp_path / "spec.yaml").write_text(f"extends: {INVENTORY}/lab-roce.yaml\n{text}\n")
    return {finding.code for finding in lint_path(tmp_path / "spec.yaml").findings}


def test_no_key_gives_a_place_on_a_device_by_the_kind_for_programs_that_are_there() -> None:
    """``path`` is left for what the distribution brings: a login shell, the loader of the boot server."""
    of_kind_path = re.findall(r'"(\w+)": \{\s*"\$ref": "strings.schema.json#/\$defs/path"', json.dumps(SCHEMA))
    assert sorted(of_kind_path) == ["ipxe", "shell"]


def test_every_place_of_the_reference_specs_is_seen() -> None:
    from clusterwright.spec.text.extends import read_spec_document

    data = read_spec_document(INVENTORY / "lab-roce.yaml").data
    seen = {string.value for string in kinded_strings(data, "cluster") if string.kind in PLACED}
    assert {"/home", "/var/log/nccl", "/etc/pki/clusterwright/node.key"} <= seen


@pytest.mark.parametrize(
    "folder",
    [
        *("/etc", "/etc/nccl", "/", "/usr", "/usr/lib/x", "/var", "/var/log", "/var/lib/dpkg/info", "/tmp", "/home"),
        *("/root/records", "/boot", "/proc/1", "/dev/shm", "/run/systemd", "/var/run/x", "/home/ops", "/opt", "/sys/x"),
    ],
)
def test_a_folder_of_the_system_is_refused(tmp_path: Path, folder: str) -> None:
    assert "CW163" in codes(tmp_path, f"nccl: {{flight_recorder: {{folder: {folder}}}}}")


@pytest.mark.parametrize("folder", ["/srv/records", "/var/log/collectives", "/mnt/a/b", "/run/records", "/opt/x"])
def test_a_folder_of_its_own_passes(tmp_path: Path, folder: str) -> None:
    assert not codes(tmp_path, f"nccl: {{flight_recorder: {{folder: {folder}}}}}")


@pytest.mark.parametrize("folder", ["/etc", "/", "/usr", "/usr/local", "/var/lib", "/var/lib/apt", "/run", "/dev/shm"])
def test_a_mount_over_the_system_is_refused(tmp_path: Path, folder: str) -> None:
    assert "CW163" in codes(tmp_path, f"mounts: [{{name: home, mountpoint: {folder}}}]")


@pytest.mark.parametrize("folder", ["/mnt/home", "/srv", "/opt", "/data", "/usr/local/shared"])
def test_a_mount_beside_the_system_passes(tmp_path: Path, folder: str) -> None:
    assert not codes(tmp_path, f"mounts: [{{name: home, mountpoint: {folder}}}]")


@pytest.mark.parametrize("key", ["truststore", "crl", "certificate", "private_key"])
@pytest.mark.parametrize(
    "file",
    [
        *("/etc/passwd", "/etc/nftables.conf", "/etc/sudoers.d/x", "/root/.ssh/authorized_keys", "/usr/lib/x.pem"),
        *("/etc/ssl/certs/ca-certificates.crt", "/dev/x.pem", "/boot/x.key", "/etc/ssh/ssh_host_ed25519_key"),
    ],
)
def test_a_file_of_a_program_is_no_place_for_a_credential(tmp_path: Path, key: str, file: str) -> None:
    assert "CW163" in codes(tmp_path, f"encryption: {{tls: {{{key}: {file}}}}}")


def test_two_files_at_one_path_are_refused_and_authorities_may_be_shared(tmp_path: Path) -> None:
    same = "encryption: {tls: {certificate: /etc/pki/a.pem, private_key: /etc/pki/a.pem}}"
    assert codes(tmp_path, same) == {"CW164"}
    shared = "site: {syslog_tls: {authority: /etc/pki/clusterwright/authorities.pem}}"
    assert "CW164" not in codes(tmp_path, shared)


def test_an_address_with_a_password_is_refused_and_not_shown(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    text = (INVENTORY / "lab-roce.yaml").read_text()
    url = re.search(r'url: "?(https?://)', text)
    assert url is not None
    spec.write_text(text.replace(url[1], f"{url[1]}u:s3cr3t@", 1))
    (finding,) = [finding for finding in lint_path(spec).findings if finding.code == "CW555"]
    assert "s3cr3t" not in finding.message + finding.hint


def test_machines_that_boot_over_infiniband_are_a_finding_and_no_defect(tmp_path: Path) -> None:
    text = (INVENTORY / "lab-ib.yaml").read_text()
    changed = text.replace("boot: {servers: services, fabric: frontend", "boot: {servers: services, fabric: backend")
    assert changed != text
    (tmp_path / "spec.yaml").write_text(changed)
    assert "CW606" in {finding.code for finding in lint_path(tmp_path / "spec.yaml").findings}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("encryption: {tls: {truststore: /etc/nccl/tuner.csv}}", "is written by"),
        ("encryption: {tls: {truststore: /etc/nccl.conf/a.pem}}", "below the file"),
        ("mounts: [{name: home, mountpoint: /srv, nodes: [compute, services]}]", "hidden by what is mounted"),
        ("mounts: [{name: home, mountpoint: /usr/local/sbin}]", "hidden by what is mounted"),
    ],
)
def test_nothing_is_proven_of_a_device_with_files_in_each_others_way(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "spec.yaml").write_text(
        f"extends: {INVENTORY}/lab-roce.yaml\n{text}\ncredentials:\n"
        '  by_site: "The rest comes from the site, by hand and after boots."\n  truststore: {secret: authorities}\n'
        "secrets: [{name: authorities, source: environment}]\n"
    )
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))  # what rules refuse already is tried as well
    rendering = Rendering(plan)
    for prove in (rendering.of_kinds_by_image, rendering.of_kinds):
        with pytest.raises(ClusterwrightError, match=said):
            prove({"nftables"})
