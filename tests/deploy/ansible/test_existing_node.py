"""Parts of a node on a machine that somebody else installed, over SSH: what is taken comes, all else stays."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import Status
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

SPEC = Path(__file__).parents[2] / "small" / "specs" / "existing.yaml"
NODE = "gpu-r00n0"
CONTROLLER = "10.20.0.9"  # campus
DOCKER = (
    "table ip docker { chain postrouting { type nat hook postrouting priority srcnat; "
    "ip saddr 172.17.0.0/16 masquerade; }; }"
)


def plan_taking(folder: Path, *parts: str) -> Plan:
    """The plan of the spec, with these parts of its nodes alone."""
    path = folder / "spec.yaml"
    path.write_text(SPEC.read_text().replace("delivery: existing", f"delivery: existing, takes: [{', '.join(parts)}]"))
    return build_plan(load_spec(path))


def tree_of(plan: Plan) -> tuple[Artifact, ...]:
    found: dict[str, list[Artifact]] = defaultdict(list)
    for artifact in Rendering(plan).of_devices([NODE]):
        found[artifact.device].append(artifact)
    return tuple(found[NODE])


@pytest.mark.parametrize("parts", [("filter",), ("filter", "nccl", "limits", "accounts")])
def test_parts_come_onto_a_machine_that_has_tables_of_others(tmp_path: Path, parts: tuple[str, ...]) -> None:
    plan = plan_taking(tmp_path, *parts)
    addresses = {NODE: frontend_address(plan, NODE)}
    with SshFleet(addresses, CONTROLLER, "fe0") as fleet, fleet.as_controller():
        fleet.run(NODE, "nft", DOCKER)
        forwards = fleet.run(NODE, "sysctl", "-n", "net.ipv4.ip_forward")
        name = fleet.run(NODE, "hostname")
        target = AnsibleTarget(
            tmp_path, Access(addresses, fleet.private_key, fleet.known_hosts, exempt=EXEMPT, trial_s=20)
        )

        outcome = target.apply({NODE: tree_of(plan)})[NODE]

        assert outcome.status is Status.APPLIED, outcome
        ruleset = fleet.run(NODE, "nft", "list", "ruleset")
        assert "masquerade" in ruleset
        assert "people log in" in ruleset
        assert fleet.run(NODE, "sysctl", "-n", "net.ipv4.ip_forward") == forwards
        assert fleet.run(NODE, "hostname") == name
        assert fleet.run(NODE, "sh", "-c", "ls /etc/nccl.conf 2>/dev/null || true") == (
            "/etc/nccl.conf\n" if "nccl" in parts else ""
        )
        assert target.apply({NODE: tree_of(plan)})[NODE].status is Status.UNCHANGED


def test_a_part_alone_brings_no_file_of_another(tmp_path: Path) -> None:
    paths = {artifact.path for artifact in tree_of(plan_taking(tmp_path, "nccl"))}
    opensm = {path for path in paths if "opensm" in path}
    assert {path for path in paths - opensm if not path.startswith("etc/nccl")} == set()
    assert "etc/nccl.conf" in paths
