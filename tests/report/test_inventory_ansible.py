"""The inventory for Ansible, read by the real ansible-inventory."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.report.specs import plan_of

from clusterwright.lists.as_ansible import ansible_lines, group_name
from clusterwright.lists.records import Inventory

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.plan.model import Plan


def read_by_ansible(plan: Plan, folder: Path, pod: str | None = None) -> dict[str, Any]:
    file = folder / "inventory.json"
    file.write_text("".join(ansible_lines(Inventory(plan, pod))))
    done = subprocess.run(
        ["ansible-inventory", "-i", str(file), "--list"], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def test_every_device_is_a_host_in_its_groups(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    found = read_by_ansible(plan, tmp_path)
    assert set(found["_meta"]["hostvars"]) == {device.name for device in plan.devices}
    for device in plan.devices:
        assert device.name in found[group_name("role", device.role)]["hosts"]
        if device.pod:
            assert device.name in found[group_name("pod", device.pod)]["hosts"]
        assert device.name in found[group_name("rack", device.rack)]["hosts"]


def test_nodes_are_reached_over_the_frontend_and_switches_over_their_management_port(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    hosts = read_by_ansible(plan, tmp_path)["_meta"]["hostvars"]
    inventory = Inventory(plan)
    management = inventory.management_addresses()
    frontend = inventory.host_addresses("frontend")
    nodes = plan.devices_of("node")
    assert nodes
    for node in nodes:
        assert hosts[node.name]["ansible_host"] == frontend[node.name]
    for switch in plan.devices_of("rtsw", "ctsw", "atsw"):
        assert hosts[switch.name]["ansible_host"] == management[switch.name]


def test_a_pod_alone(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    pod = plan.devices[0].pod
    found = read_by_ansible(plan, tmp_path, pod)
    assert set(found["_meta"]["hostvars"]) == {device.name for device in plan.devices if device.pod == pod}


def test_names_are_made_safe_for_groups() -> None:
    assert group_name("rack", "p00-r01.a") == "rack_p00_r01_a"


def test_switches_are_in_their_fabric_tier_and_system_which_says_how_to_reach_them(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    found = read_by_ansible(plan, tmp_path)
    hosts = found["_meta"]["hostvars"]
    for switch in (device for device in plan.devices if device.fabric):
        assert switch.name in found[group_name("fabric", switch.fabric)]["hosts"]
        assert switch.name in found[group_name("tier", f"{switch.fabric}_{switch.tier}")]["hosts"]
        system = plan.spec.catalogue[switch.model].network_os
        assert switch.name in found[group_name("system", str(system))]["hosts"]
        expected = ("ansible.netcommon.httpapi", "arista.eos.eos") if system == "eos" else ("ssh", None)
        told = hosts[switch.name]
        assert (told["ansible_connection"], told.get("ansible_network_os")) == expected
    node = plan.devices_of("node")[0].name
    assert all(node in found[group_name("fabric", fabric.name)]["hosts"] for fabric in plan.spec.fabrics)
    assert "ansible_connection" not in hosts[node]
