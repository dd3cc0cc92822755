"""lab-roce's nodes, planned and rendered as ever, deployed over SSH through their own packet filter."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.lab.sshfleet import SshFleet

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import Status, tree_digest
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec


def test_every_node_gets_its_tree_and_still_lets_the_service_node_in(tmp_path: Path) -> None:
    plan = build_plan(load_spec(data_files.folder("inventory") / "lab-roce.yaml"))
    nodes = [device.name for device in plan.devices_of("node")]
    addresses = {name: frontend_address(plan, name) for name in nodes}
    controller = frontend_address(plan, plan.devices_of("service")[0].name)
    found: dict[str, list[Artifact]] = defaultdict(list)
    for artifact in Rendering(plan).of_devices(nodes):
        found[artifact.device].append(artifact)
    batch = {device: tuple(artifacts) for device, artifacts in found.items()}
    assert len(batch) == 8

    with SshFleet(addresses, controller, "fe0") as fleet, fleet.as_controller():
        target = AnsibleTarget(tmp_path, Access(addresses, fleet.private_key, fleet.known_hosts, exempt=EXEMPT))

        first = target.apply(batch)
        assert {name: outcome.status for name, outcome in first.items()} == dict.fromkeys(nodes, Status.APPLIED)
        assert {name: outcome.digest for name, outcome in first.items()} == {
            name: tree_digest(files) for name, files in batch.items()
        }
        # What this kind of host cannot hold is said, and nothing else is left out.
        assert "module:mlx5_ib" in first[nodes[0]].message
        assert "sysctl:vm.zone_reclaim_mode" in first[nodes[0]].message

        for name, files in batch.items():
            listing = fleet.run(name, "stat", "-c", "%n %a %s", *(f"/{artifact.path}" for artifact in files))
            assert listing.splitlines() == [f"/{item.path} {item.mode:o} {len(item.content)}" for item in files]
            assert fleet.run(name, "hostname").strip() == name
            assert fleet.run(name, "sysctl", "-n", "net.ipv6.conf.all.accept_ra") == "0\n"
            ruleset = fleet.run(name, "nft", "list", "ruleset")
            assert ruleset.count("policy drop") == 3
            assert "RoCEv2 between GPUs" in ruleset

        # The second run arrives through the packet filter that the first one loaded.
        second = target.apply(batch)
        assert {name: (outcome.status, outcome.changed) for name, outcome in second.items()} == dict.fromkeys(
            nodes, (Status.UNCHANGED, ())
        )
