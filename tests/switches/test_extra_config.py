"""Configuration added by hand joins what is rendered, in the order of the spec, and nothing else moves."""

from __future__ import annotations

import json
from pathlib import Path

from hier_config import Platform, get_hconfig
from tests.plans import plan_of, plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.switches.extra_config import merge_patch

LINES = """extra_config:
  - role: ctsw
    lines: ["interface Ethernet3/1/1", "   load-interval 30", "no logging console"]
    reason: "a test"
  - device: ctsw-p00-00
    lines: ["no logging monitor", "interface Ethernet3/1/1", "   load-interval 5"]
    reason: "a test"
"""
PATCH = """extra_config:
  - fabric: frontend
    lines: ["no logging console"]
    reason: "a test, and of no effect on FBOSS"
  - role: rtsw
    file: etc/coop/agent.conf
    merge: {defaultCommandLineArgs: {v: "1"}, platform: null}
    reason: "a test"
"""


def text(plan: Plan, name: str, path: str) -> str:
    return {artifact.path: artifact.content.decode() for artifact in Rendering(plan).of_device(name)}[path]


def test_lines_join_their_sections(tmp_path: Path) -> None:
    path = "mnt/flash/startup-config"
    before, after = (
        get_hconfig(Platform.ARISTA_EOS, text(plan, "ctsw-p00-00", path))
        for plan in (plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", LINES))
    )
    added = {line.cisco_style_text().strip() for line in before.config_to_get_to(after).all_children()}
    assert added == {
        "interface Ethernet3/1/1",
        "load-interval 30",
        "load-interval 5",
        "no logging console",
        "no logging monitor",
    }
    assert text(plan_with(tmp_path, "lab-roce", LINES), "ctsw-p00-00", path).count("interface Ethernet3/1/1\n") == 1
    assert text(plan_with(tmp_path, "lab-roce", LINES), "ctsw-p00-00", path).endswith("\nend\n")


def test_lines_for_bgp_join_each_switchs_own_process(tmp_path: Path) -> None:
    lines = '["router bgp", "   neighbor RTSW next-hop-self"]'
    plan = plan_with(tmp_path, "lab-roce", f'extra_config:\n  - {{role: ctsw, lines: {lines}, reason: "a test"}}\n')
    for name in ("ctsw-p00-00", "ctsw-p01-00"):
        after = text(plan, name, "mnt/flash/startup-config")
        assert after.count("\nrouter bgp") == 1
        _, _, process = after.partition(f"\nrouter bgp {plan.by_name[name].asn}\n")
        assert "   neighbor RTSW next-hop-self\n" in process.partition("\n!")[0] + "\n"


def test_patches_change_their_file_alone(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", PATCH)
    before = json.loads(text(plan_of("lab-roce"), "rtsw-p00r00", "etc/coop/agent.conf"))
    after = json.loads(text(plan, "rtsw-p00r00", "etc/coop/agent.conf"))
    flags = before.pop("defaultCommandLineArgs")
    assert after.pop("defaultCommandLineArgs") == {**flags, "v": "1"}
    assert before.pop("platform")
    assert after == before
    assert text(plan, "rtsw-p00r00", "etc/coop/bgpcpp.conf") == text(
        plan_of("lab-roce"), "rtsw-p00r00", "etc/coop/bgpcpp.conf"
    )


def test_the_patch_is_that_of_the_rfc() -> None:
    """Cases of RFC 7396, appendix A."""
    assert merge_patch({"a": "b"}, {"a": "c"}) == {"a": "c"}
    assert merge_patch({"a": "b"}, {"b": "c"}) == {"a": "b", "b": "c"}
    assert merge_patch({"a": "b"}, {"a": None}) == {}
    assert merge_patch({"a": [{"b": "c"}]}, {"a": [1]}) == {"a": [1]}
    assert merge_patch({"a": "foo"}, {"a": {"bb": {"ccc": None}}}) == {"a": {"bb": {}}}
    assert merge_patch({"e": None}, {"a": 1}) == {"e": None, "a": 1}
