"""Draining a switch takes its routes away and changes nothing else."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

DRAIN = """exceptions:
  - {device: %s, state: drained, reason: "new line card"}
"""
BGP = "etc/coop/bgpcpp.conf"


def files(plan: Plan, name: str) -> dict[str, str]:
    return {artifact.path: artifact.content.decode() for artifact in Rendering(plan).of_device(name)}


def changes(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that went away, and lines that came."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    return [line[1:] for line in lines if line[0] == "-"], [line[1:] for line in lines if line[0] == "+"]


@pytest.mark.parametrize("name", ["ctsw-p00-01", "atsw-00", "ssw-01"])
def test_on_eos_only_the_outgoing_route_maps_change(name: str, tmp_path: Path) -> None:
    path = "mnt/flash/startup-config"
    normal, drained = files(plan_of("lab-roce"), name), files(plan_with(tmp_path, "lab-roce", DRAIN % name), name)
    gone, come = changes(normal[path], drained[path])
    sides = [side for side in ("DOWN", "UP") if f"route-map FROM-{side}" in normal[path]]
    assert [line for line in come if line != "!"] == [
        line for side in sides for line in (f"route-map TO-{side} deny 10", "   description drained")
    ]
    headers = {f"route-map TO-{side} permit {number}" for side in sides for number in (10, 20)}
    matches = {"   match ipv6 address prefix-list OWN", "   match ipv6 address prefix-list FABRIC"}
    assert set(gone) <= headers | matches | {"   match community FROM-BELOW", "!"}
    assert {path: text for path, text in drained.items() if "startup" not in path} == {}


@pytest.mark.parametrize("name", ["rtsw-p00r00", "rsw-p01r01"])
def test_on_fboss_only_the_outgoing_policies_change(name: str, tmp_path: Path) -> None:
    normal, drained = files(plan_of("lab-roce"), name), files(plan_with(tmp_path, "lab-roce", DRAIN % name), name)
    assert {path for path in normal if normal[path] != drained[path]} == {BGP}
    before, after = (_without_outgoing(json.loads(text[BGP])) for text in (normal, drained))
    assert before == after
    for statement in json.loads(drained[BGP])["policies"]["bgp_policy_statements"]:
        if statement["name"].startswith("TO-"):
            (term,) = statement["policy_entries"]
            assert term["policy_action_entries"] == [{"type": 5, "action_type": {"flow_action": 2}}]


def _without_outgoing(config: dict[str, Any]) -> dict[str, Any]:
    statements = config["policies"]["bgp_policy_statements"]
    config["policies"]["bgp_policy_statements"] = [one for one in statements if not one["name"].startswith("TO-")]
    return config


def test_the_neighbours_of_a_drained_switch_do_not_notice(tmp_path: Path) -> None:
    plan, drained = plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", DRAIN % "ctsw-p00-01")
    for name in ("rtsw-p00r00", "atsw-01", "ctsw-p00-00"):
        assert files(plan, name) == files(drained, name)


def test_a_switch_out_of_service_loses_ports_and_sessions(tmp_path: Path) -> None:
    text = (DRAIN % "ctsw-p00-01").replace("drained", "out-of-service")
    config = files(plan_with(tmp_path, "lab-roce", text), "atsw-00")["mnt/flash/startup-config"]
    (port,) = [part for part in config.split("!\n") if "to ctsw-p00-01 " in part]
    assert "(out of service)\n   shutdown\n" in port
    assert "description ctsw-p00-01" not in config


def test_a_drained_node_keeps_its_links_and_the_scheduler_alone_is_told(tmp_path: Path) -> None:
    """Its jobs end over these ports before Slurm lets go of it."""
    normal, drained = plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", DRAIN % "gpu-p00r00n0")
    before, after = (
        {(item.device, item.path): item.content for item in Rendering(plan).of_devices()} for plan in (normal, drained)
    )
    changed = {place for place, content in before.items() if after[place] != content}
    assert changed == {("svc-v00n0", "etc/slurm/slurm.conf")}
