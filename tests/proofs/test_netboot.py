"""Machines that boot have a gateway: the rack switch relays for them and, over IPv6, says that it is their router."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from tests.plans import plan_with
from tests.proofs.isolation.test_relays import IMAGED

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
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
    ("eos", r"(relay destination \S+) source-address \S+", r"\1", "leave from the address of the port"),
    ("eos", r"(relay destination \S+ source-address) \S+", r"\1 fd00:1ab:f:1::1", "no address of the switch"),
    ("fboss", r'"routerAdvertisementSeconds": 60', '"routerAdvertisementSeconds": 0', "no gateway"),
    ("fboss", r'"routerAdvertisementManagedBit": true', '"routerAdvertisementManagedBit": false', "no gateway"),
    ("fboss", r', "dhcpRelayAddressV6": "[^"]*"', "", "passes their requests"),
    ("fboss", r', \{"rxReason": 17, "queueId": 2\}', "", "passes their requests"),
    ("nvue", r"fib-filter: SOURCE", "fib-filter: FROM-UP", "leave from the address of the port"),
    ("nvue", r"(source-ip:) .*", r'\1 "fd00:2ab:f:9::1"', "no address of the switch"),
    ("nvue", r"(source-ip:) .*", r'\1 "fd00:2ab:f:fffe::2"', "no prefix that the switch announces"),
    ("nvue", r"(source-ip:) .*", r'\1 "fd00:2ab:f::1"', "filters of boot servers do not expect"),
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
    return plan, tuple(Rendering(plan).of_kinds(KINDS))


def verdict(system: str, pattern: str = "", new: str = "") -> Verdict:
    plan, artifacts = rendered(system)
    made = []
    for artifact in artifacts:
        text = artifact.content
        if pattern and (artifact.device, artifact.path) == (SWITCH, SYSTEMS[system][2]):
            text = re.sub(pattern, new, text.decode()).encode()
            assert text != artifact.content, "the edit changes nothing"
        made.append(Artifact(artifact.device, artifact.path, text, artifact.kind))
    check = next(check for check in CHECKS if check.name == "reachability")
    return check.run(tree_of(plan.name, made, Declaration(plan)))


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_gives_machines_that_boot_a_gateway(system: str) -> None:
    result = verdict(system)
    assert not result.counterexamples
    assert [fact.value for fact in result.facts if fact.name.endswith(PROVEN)] == [4]


@pytest.mark.parametrize(("system", "pattern", "new", "says"), EDITS)
def test_a_switch_that_gives_none_is_refuted(system: str, pattern: str, new: str, says: str) -> None:
    examples = [example for example in verdict(system, pattern, new).counterexamples if says in example.message]
    assert [each.device for each in examples] == [SWITCH]


def test_over_ipv4_the_relay_alone_is_asked_for(tmp_path: Path) -> None:
    """Kea names the router; the relay asks from the gateway's address, as the spec's flows know it."""
    overlay = "fabrics:\n  - {name: frontend, tiers: [{role: rsw, model: dcs-7804r3, down: {medium: mmf}}]}\n"
    plan = plan_with(tmp_path, "lab-ib", overlay)
    text = next(
        artifact.content.decode()
        for artifact in Rendering(plan).of_kinds(KINDS)
        if artifact.path == "mnt/flash/startup-config" and artifact.device == "rsw-00"
    )
    relay = next(line for line in text.splitlines() if "helper-address" in line)
    assert re.fullmatch(r"   ip helper-address 10\.[0-9.]+ source-interface Vlan100", relay)
    assert "managed-config-flag" not in text


@pytest.mark.parametrize(
    ("model", "path", "pattern", "new"),
    [
        ("dcs-7804r3", "mnt/flash/startup-config", " source-interface Vlan100", ""),
        ("sn4700", "etc/clusterwright/nvue.yaml", "source-ip: gateway", "source-ip: auto"),
        ("sn4700-sonic", "etc/sonic/config_db.json", r'"deployment_id": "8",\s*', ""),
    ],
)
def test_over_ipv4_requests_leave_from_the_hosts_gateway(
    tmp_path: Path, model: str, path: str, pattern: str, new: str
) -> None:
    overlay = f"fabrics:\n  - {{name: frontend, tiers: [{{role: rsw, model: {model}, down: {{medium: mmf}}}}]}}\n"
    plan = plan_with(tmp_path, "lab-ib", overlay)
    artifacts = list(Rendering(plan).of_kinds(KINDS))
    reachability = next(check for check in CHECKS if check.name == "reachability")
    assert not reachability.run(tree_of(plan.name, artifacts, Declaration(plan))).counterexamples

    changed = []
    for artifact in artifacts:
        text = artifact.content
        if (artifact.device, artifact.path) == ("rsw-00", path):
            text = re.sub(pattern, new, text.decode()).encode()
            assert text != artifact.content, "the edit changes nothing"
        changed.append(Artifact(artifact.device, artifact.path, text, artifact.kind))
    (example,) = reachability.run(tree_of(plan.name, changed, Declaration(plan))).counterexamples
    assert example.device == "rsw-00"
    assert "leave from the address of the port" in example.message


def test_a_boot_server_has_a_route_to_relays_that_ask_from_their_loopback(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", IMAGED)
    artifacts = list(Rendering(plan).of_kinds(KINDS | {"node"}))
    loopbacks = "Destination=fd00:2ab:f:ffff::/64"
    server = next(device.name for device in plan.devices if device.node_group == "services")
    networks = [
        artifact
        for artifact in artifacts
        if artifact.device == server and artifact.path.endswith(".network") and loopbacks.encode() in artifact.content
    ]
    assert networks
    reachability = next(check for check in CHECKS if check.name == "reachability")
    assert not reachability.run(tree_of(plan.name, artifacts, Declaration(plan))).counterexamples

    changed = []
    for artifact in artifacts:
        text = artifact.content
        if artifact in networks:
            text = text.replace(loopbacks.encode(), b"Destination=fd00:2ab:f:fffe::/64")
        changed.append(Artifact(artifact.device, artifact.path, text, artifact.kind))
    counterexamples = reachability.run(tree_of(plan.name, changed, Declaration(plan))).counterexamples
    assert {example.device for example in counterexamples if "from which a switch asks" in example.message} == {server}


def test_a_switch_asks_a_server_behind_itself_over_the_hosts_own_interface(tmp_path: Path) -> None:
    """dhcrelay sends by its upstream ports alone, and the way to the server leads over the VLAN."""
    plan = plan_with(tmp_path, "lab-nvue", IMAGED)
    (text,) = (
        artifact.content.decode()
        for artifact in Rendering(plan).of_kinds(KINDS)
        if (artifact.device, artifact.path) == ("rsw-v00", "etc/clusterwright/nvue.yaml")
    )
    relay = yaml.safe_load(text)[0]["set"]["service"]["dhcp-relay6"]["default"]["interface"]
    assert relay["upstream"].keys() == relay["downstream"].keys() == {"vlan100"}
    assert "fib-filter" not in text
