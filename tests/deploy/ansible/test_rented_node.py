"""Parts of a node on a provider's machine, over SSH: its address came by DHCP, and the plan has none."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from tests.deploy.ansible.lab_access import EXEMPT
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import Status
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

SPEC = Path(__file__).parents[2] / "small" / "specs" / "rented.yaml"
LISTED = Path(__file__).parents[2] / "small" / "specs" / "rented-filter.yaml"
TAKEN = "takes: [nccl, slurm, health, limits]"
NODE = "gpu-r00n0"
ADDRESSES = {NODE: "198.51.100.11"}
CONTROLLER = "198.51.100.9"


def tree_of(spec: Path, node: str) -> tuple[Artifact, ...]:
    trees: dict[str, list[Artifact]] = defaultdict(list)
    for artifact in Rendering(build_plan(load_spec(spec))).of_devices([node]):
        trees[artifact.device].append(artifact)
    return tuple(trees[node])


def taking(folder: Path, *parts: str) -> Path:
    path = folder / "spec.yaml"
    text = SPEC.read_text()
    assert TAKEN in text
    limits = "limits: {memlock: unlimited}"
    text = text.replace(TAKEN, f"takes: [{', '.join(parts)}]")
    path.write_text(text if "limits" in parts else text.replace(f", {limits}", ""))
    return path


@pytest.mark.parametrize("parts", [("nccl",), ("nccl", "limits")])
def test_parts_come_onto_a_machine_with_an_address_of_the_providers(tmp_path: Path, parts: tuple[str, ...]) -> None:
    tree = tree_of(taking(tmp_path, *parts), NODE)
    with SshFleet(ADDRESSES, CONTROLLER, "eth0") as fleet, fleet.as_controller():
        tables = fleet.run(NODE, "nft", "list", "ruleset")
        routes = fleet.run(NODE, "ip", "route")
        access = Access(ADDRESSES, fleet.private_key, fleet.known_hosts, exempt=EXEMPT)
        target = AnsibleTarget(tmp_path, access)

        outcome = target.apply({NODE: tree})[NODE]

        assert outcome.status is Status.APPLIED, outcome
        assert "NCCL_IB_PKEY=1\n" in fleet.run(NODE, "cat", "/etc/nccl.conf")
        assert "NCCL_SOCKET_IFNAME==eth0\n" in fleet.run(NODE, "cat", "/etc/nccl.conf")
        assert fleet.run(NODE, "nft", "list", "ruleset") == tables
        assert fleet.run(NODE, "ip", "route") == routes
        limits = fleet.run(NODE, "sh", "-c", "cat /etc/security/limits.d/90-clusterwright.conf 2>/dev/null || true")
        assert bool(limits) is ("limits" in parts)
        assert target.apply({NODE: tree})[NODE].status is Status.UNCHANGED


def test_nccl_alone_brings_no_file_of_another_part(tmp_path: Path) -> None:
    paths = {artifact.path for artifact in tree_of(taking(tmp_path, "nccl"), NODE)}
    assert "etc/nccl.conf" in paths
    assert not [path for path in paths if not path.startswith("etc/nccl")]


def test_the_filter_of_listed_addresses_comes_and_the_controller_stays_connected(tmp_path: Path) -> None:
    text = LISTED.read_text().replace("takes: [nccl, slurm, health, limits, filter]", "takes: [nccl, filter]")
    for word in (", limits: {memlock: unlimited}", "rented-names.csv", "rented-ips.csv"):
        assert word in text
    text = text.replace(", limits: {memlock: unlimited}", "")
    (tmp_path / "spec.yaml").write_text(text)
    for name in ("rented-names.csv", "rented-ips.csv"):
        (tmp_path / name).write_bytes((LISTED.parent / name).read_bytes())
    addresses = {"bm-head": "10.3.0.5"}
    tree = tree_of(tmp_path / "spec.yaml", "bm-head")
    with SshFleet(addresses, "192.0.2.9", "eth0") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts, exempt=EXEMPT, trial_s=20)
        target = AnsibleTarget(tmp_path, access)

        outcome = target.apply({"bm-head": tree})["bm-head"]

        assert outcome.status is Status.APPLIED, outcome
        assert "people log in" in fleet.run("bm-head", "nft", "list", "ruleset")
        assert target.apply({"bm-head": tree})["bm-head"].status is Status.UNCHANGED
