"""Boot servers and the relays that ask them, where hosts of several zones share a subnet: no zone has its gateway."""

from __future__ import annotations

from pathlib import Path

from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import relay_sources, relay_targets
from clusterwright.plan.model import Plan, format_address
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.switches.readers import READERS

IMAGED = """
nodes:
  - {name: services, image: training}
flows:
  - {name: services-names, from: services, to: site-services, protocol: udp, ports: [53, 123], reason: names}
  - {name: services-logs, from: services, to: site-services, protocol: tcp, ports: [6514], reason: logs}
  - {name: services-ssh, from: services, to: services, protocol: tcp, ports: [22], reason: SSH}
"""


def judged(plan: Plan, place: tuple[str, str] = ("", ""), old: str = "", new: str = "") -> Verdict:
    check = next(check for check in CHECKS if check.name == "isolation")
    made = []
    for artifact in Rendering(plan).of_kinds(check.kinds | frozenset().union(*(reader.kinds for reader in READERS))):
        text = artifact.content
        if (artifact.device, artifact.path) == place:
            assert old.encode() in text, "the edit changes nothing"
            text = text.replace(old.encode(), new.encode())
        made.append(Artifact(artifact.device, artifact.path, text, artifact.kind))
    return check.run(tree_of(plan.name, made, Declaration(plan)))


def gateways(plan: Plan) -> list[str]:
    subnets = [plan.host_subnet_of["frontend", switch] for switch in relay_targets(plan)]
    return [format_address(subnet.gateway or 0, subnet.version) for subnet in subnets]


def test_a_boot_server_answers_relays_through_its_rack_switch() -> None:
    """In lab-ib nodes and services share rack switches: their gateways are in no zone, and ask all the same."""
    plan = plan_of("lab-ib")
    text = next(
        artifact.content.decode()
        for artifact in Rendering(plan).of_kinds(frozenset().union(*(reader.kinds for reader in READERS)))
        if (artifact.device, artifact.path) == ("rsw-00", "etc/coop/agent.conf")
    )
    assert len(gateways(plan)) == 2
    for gateway in gateways(plan):
        assert f'"dstIp": "{gateway}/32", "l4SrcPort": 67, "proto": 17' in text
    assert not judged(plan).counterexamples


def test_a_switch_that_drops_the_answers_is_refuted() -> None:
    plan = plan_of("lab-ib")
    gateway = gateways(plan)[1]
    result = judged(
        plan, ("rsw-00", "etc/coop/agent.conf"), f'"dstIp": "{gateway}/32", "l4SrcPort": 67', '"l4SrcPort": 68'
    )
    assert result.counterexamples


def test_a_boot_server_with_an_image_takes_requests_of_relays(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", IMAGED)
    server = next(device.name for device in plan.devices if device.node_group == "services")
    rules = next(
        artifact.content.decode()
        for artifact in Rendering(plan).of_kinds(frozenset({"nftables"}))
        if (artifact.device, artifact.path) == (server, "etc/nftables.conf")
    )
    assert "ip saddr @relays_v4 udp dport { 67 } counter accept" in rules
    for gateway in gateways(plan):
        assert f"{gateway}/32," in rules
    assert not [example for example in judged(plan).counterexamples if example.device == server]
    refuted = judged(plan, (server, "etc/nftables.conf"), "udp dport { 67 }", "udp dport { 68 }").counterexamples
    assert [each for each in refuted if each.device == server]


def test_relays_that_ask_from_their_loopback_are_let_in_and_answered(tmp_path: Path) -> None:
    """NVUE's relay over IPv6 takes the source of the route: no zone has that address."""
    plan = plan_with(tmp_path, "lab-nvue", IMAGED)
    server = next(device.name for device in plan.devices if device.node_group == "services")
    relays = [format_address(source, 6) for switch, source in relay_sources(plan).items() if switch != "rsw-v00"]
    assert len(relays) == 4
    assert all(relay.startswith("fd00:2ab:f:ffff::") for relay in relays)
    rules = next(
        artifact.content.decode()
        for artifact in Rendering(plan).of_kinds(frozenset({"nftables"}))
        if (artifact.device, artifact.path) == (server, "etc/nftables.conf")
    )
    assert all(f"{relay}/128," in rules for relay in relays)
    assert not judged(plan).counterexamples
    refuted = judged(
        plan, (server, "etc/nftables.conf"), f"{relays[0]}/128,", "fd00:2ab:f:ffff::99/128,"
    ).counterexamples
    assert [each for each in refuted if each.device == server]
