"""Machines that boot have a gateway: the rack switch relays for them and, over IPv6, says that it is their router."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.platforms.plans import plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.engine import render_kinds
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

SWITCH = "rsw-p00r00"
PROVEN = "switches that hosts boot behind, which give them a gateway"


def rack_switch(model: str, down: str, up: str) -> str:
    sides = f"down: {{medium: mmf, blocks: [{down}]}}, up: {{speed_gbps: 200, blocks: [{up}], medium: mmf}}"
    return f"fabrics:\n  - {{name: frontend, tiers: [{{role: rsw, model: {model}, {sides}}}]}}\n"


# By system: the lab, what is laid over it, the file, and edits that leave machines without a relay or a router.
SYSTEMS = {
    "eos": ("lab-roce", rack_switch("dcs-7804r3", "card4", "card3"), "mnt/flash/startup-config"),
    "fboss": ("lab-roce", "", "etc/coop/agent.conf"),
    "nvue": ("lab-nvue", "", "etc/clusterwright/nvue.yaml"),
    "sonic": ("lab-roce", rack_switch("sn4700-sonic", "cages", "cages"), "etc/sonic/config_db.json"),
}
EDITS = [
    ("eos", r"   ipv6 nd managed-config-flag\n", "", "no gateway"),
    ("eos", r"(?=   ipv6 nd managed-config-flag\n)", "   ipv6 nd ra disabled\n", "no gateway"),
    ("eos", r"   ipv6 dhcp relay destination .*\n", "", "passes their requests"),
    ("fboss", r'"routerAdvertisementSeconds": 60', '"routerAdvertisementSeconds": 0', "no gateway"),
    ("fboss", r'"routerAdvertisementManagedBit": true', '"routerAdvertisementManagedBit": false', "no gateway"),
    ("fboss", r', "dhcpRelayAddressV6": "[^"]*"', "", "passes their requests"),
    ("fboss", r', \{"rxReason": 17, "queueId": 2\}', "", "passes their requests"),
    ("nvue", r'managed-config: "on"', 'managed-config: "off"', "no gateway"),
    ("nvue", r'(router-advertisement:\n +enable): "on"', r'\1: "off"', "no gateway"),
    ("nvue", r"(downstream:\n +)vlan100:", r"\1vlan101:", "passes their requests"),
    ("nvue", r"server-address:", "address:", "passes their requests"),  # the word before Cumulus Linux 5.5
    ("sonic", r'"type": "ToRRouter"', '"type": "LeafRouter"', "no gateway"),
    ("sonic", r'("dhcp_relay": \{"state": )"enabled"', r'\1"disabled"', "passes their requests"),
    ("sonic", r'("radv": \{"state": )"enabled"', r'\1"disabled"', "no gateway"),
    ("sonic", r'"dhcpv6_servers": \[[^]]*\]', '"dhcpv6_servers": []', "passes their requests"),
]


@cache
def rendered(system: str) -> tuple[Plan, tuple[Artifact, ...]]:
    name, overlay, _ = SYSTEMS[system]
    with TemporaryDirectory() as folder:
        plan = plan_with(Path(folder), name, overlay)
    return plan, tuple(render_kinds(plan, KINDS))


def verdict(system: str, pattern: str = "", new: str = "") -> Verdict:
    plan, artifacts = rendered(system)
    made = []
    for each in artifacts:
        text = each.content
        if pattern and (each.device, each.path) == (SWITCH, SYSTEMS[system][2]):
            text = re.sub(pattern, new, text.decode()).encode()
            assert text != each.content, "the edit changes nothing"
        made.append(Artifact(each.device, each.path, text, each.kind))
    check = next(check for check in CHECKS if check.name == "reachability")
    return check.run(tree_of(plan.name, made, declaration_of(plan)))


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_gives_machines_that_boot_a_gateway(system: str) -> None:
    found = verdict(system)
    assert not found.counterexamples
    assert [fact.value for fact in found.facts if fact.name.endswith(PROVEN)] == [4]


@pytest.mark.parametrize(("system", "pattern", "new", "says"), EDITS)
def test_a_switch_that_gives_none_is_refuted(system: str, pattern: str, new: str, says: str) -> None:
    found = [each for each in verdict(system, pattern, new).counterexamples if says in each.message]
    assert [each.device for each in found] == [SWITCH]


def test_over_ipv4_the_relay_alone_is_asked_for(tmp_path: Path) -> None:
    """Kea names the router; the relay asks from the gateway's address, as the spec's flows know it."""
    overlay = "fabrics:\n  - {name: frontend, tiers: [{role: rsw, model: dcs-7804r3, down: {medium: mmf}}]}\n"
    plan = plan_with(tmp_path, "lab-ib", overlay)
    text = next(
        each.content.decode()
        for each in render_kinds(plan, KINDS)
        if each.path == "mnt/flash/startup-config" and each.device == "rsw-00"
    )
    relay = next(line for line in text.splitlines() if "helper-address" in line)
    assert re.fullmatch(r"   ip helper-address 10\.[0-9.]+ source-interface Vlan100", relay)
    assert "managed-config-flag" not in text
