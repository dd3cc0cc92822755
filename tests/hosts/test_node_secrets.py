"""Files with secrets: on the nodes that need them, in no image, and in nothing that a boot server offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hosts.subnet_specs import SHARED, variant
from tests.plans import plan_with

from clusterwright.hosts.linux.writer.passwords import PASSWORDS, password_lines
from clusterwright.hosts.linux.writer.secrets import KIND
from clusterwright.hosts.opensm.writer.configuration import FOLDER, M_KEY, manager_hosts
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

OVERLAY = """
images:
  - name: training
    users:
      - {name: ops, password: ops-hash}
"""
BOOT_KINDS = ("boot", "boot-archives")
NODE, SERVER = "gpu-p00r00n0", "svc-v00n0"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("spec"), "lab-roce", OVERLAY)


def test_a_node_gets_the_hash_in_a_file_of_its_own(plan: Plan) -> None:
    (file,) = (artifact for artifact in Rendering(plan).of_device(NODE) if b"ops-hash" in artifact.content)
    assert (file.path, file.kind, file.mode) == (PASSWORDS, KIND, 0o600)
    assert file.content == b"ops:<secret ops-hash as crypt>\n"


def test_no_image_and_no_overlay_holds_it(plan: Plan) -> None:
    served = [artifact for artifact in Rendering(plan).of_device(SERVER) if artifact.kind in BOOT_KINDS]
    assert any(server.path == f"srv/http/nodes/{NODE}.cpio" for server in served)
    assert any(server.path.endswith("tree.cpio") for server in served)
    assert not [
        server.path for server in served if b"<secret" in server.content or PASSWORDS.encode() in server.content
    ]


def test_a_password_makes_no_other_image(plan: Plan, tmp_path: Path) -> None:
    before = plan_with(tmp_path, "lab-roce", "")

    def boot_paths(of: Plan) -> set[str]:
        return {artifact.path for artifact in Rendering(of).of_device(SERVER) if artifact.kind == "boot"}

    assert boot_paths(plan) == boot_paths(before)


def test_hosts_of_a_subnet_manager_get_its_key_and_nobody_else(tmp_path: Path) -> None:
    plan = variant("lab-ib", SHARED, tmp_path)
    hosts = manager_hosts(plan, "backend")
    for device in plan.devices:
        if device.kind == "node":
            held = [
                artifact for artifact in Rendering(plan).of_device(device.name) if artifact.path == f"{FOLDER}/{M_KEY}"
            ]
            assert bool(held) == (device.name in hosts)
            assert all((each.content, each.mode) == (b"<secret fabric-key as m-key>\n", 0o600) for each in held)


def test_accounts_beside_one_with_a_password_are_closed_to_passwords() -> None:
    assert password_lines([("a", "a-hash"), ("b", None)]) == "a:<secret a-hash as crypt>\nb:*\n"
    assert password_lines([("a", None)]) == ""
