"""BGP as the rendered text has it: parsed back from EOS text and BGP++ JSON, every session must have its other end."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from ipaddress import ip_interface, ip_network

import pytest
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

EOS_NEIGHBOUR = re.compile(r"^   neighbor ([0-9a-f:.]+) remote-as (\d+)$", re.MULTILINE)
EOS_ADDRESS = re.compile(r"^   (?:ip|ipv6) address (\S+)$", re.MULTILINE)
EOS_PATHS = re.compile(r"^   maximum-paths (\d+) ecmp \1$", re.MULTILINE)


@dataclass
class Speaker:
    """What one switch's files say: its AS and router id, own addresses, neighbours with their AS, own prefixes."""

    asn: int
    router_id: str
    addresses: set[str] = field(default_factory=set)
    neighbours: dict[str, int] = field(default_factory=dict)
    networks: set[str] = field(default_factory=set)


def eos_speaker(text: str) -> Speaker | None:
    match = re.search(r"^router bgp (\d+)\n   router-id (\S+)$", text, re.MULTILINE)
    if match is None:
        return None
    return Speaker(
        int(match[1]),
        match[2],
        {str(ip_interface(address).ip) for address in EOS_ADDRESS.findall(text)},
        {address: int(asn) for address, asn in EOS_NEIGHBOUR.findall(text)},
        set(re.findall(r"^      network (\S+)$", text, re.MULTILINE)),
    )


def fboss_speaker(agent: bytes, bgp: bytes) -> Speaker:
    config = json.loads(bgp)
    interfaces = json.loads(agent)["sw"]["interfaces"]
    speaker = Speaker(
        config["local_as_4_byte"],
        config["router_id"],
        {str(ip_interface(address).ip) for entry in interfaces for address in entry["ipAddresses"]},
        {peer["peer_addr"]: peer["remote_as_4_byte"] for peer in config["peers"]},
        {entry["prefix"] for entry in config["networks4"] + config["networks6"]},
    )
    assert {peer["local_addr"] for peer in config["peers"]} <= speaker.addresses
    assert {peer["peer_group_name"] for peer in config["peers"]} <= {group["name"] for group in config["peer_groups"]}
    defined = {statement["name"] for statement in config["policies"]["bgp_policy_statements"]}
    for group in config["peer_groups"]:
        assert {group["ingress_policy_name"], group["egress_policy_name"]} <= defined
    return speaker


def speakers_of(plan: Plan) -> dict[str, Speaker]:
    found: dict[str, Speaker] = {}
    for device in plan.devices:
        if device.asn is None:
            continue
        files = {artifact.path: artifact.content for artifact in Rendering(plan).of_device(device.name)}
        if "mnt/flash/startup-config" in files:
            speaker = eos_speaker(files["mnt/flash/startup-config"].decode())
        elif "etc/coop/bgpcpp.conf" in files:
            speaker = fboss_speaker(files["etc/coop/agent.conf"], files["etc/coop/bgpcpp.conf"])
        else:
            speaker = None
        if speaker is not None:
            found[device.name] = speaker
    return found


@pytest.mark.parametrize("spec", ["lab-roce", pytest.param("roce-24k", marks=pytest.mark.slow)])
def test_every_session_has_its_other_end(spec: str) -> None:
    plan = plan_of(spec)
    speakers = speakers_of(plan)
    owner: dict[str, str] = {}
    for name, speaker in speakers.items():
        for address in speaker.addresses:
            assert owner.setdefault(address, name) == name, f"{address} is on {owner[address]} and on {name}"
    outside = {str(border.neighbour): border.asn for border in plan.spec.borders}
    sessions = set()
    for name, speaker in speakers.items():
        for address, asn in speaker.neighbours.items():
            if address in outside:
                assert asn == outside[address], f"{name} expects AS {asn} at {address}"
                continue
            peer = owner[address]
            assert speakers[peer].asn == asn, f"{name} expects AS {asn} at {peer}"
            sessions.add((name, peer, address))
    between_switches = [
        cable for cable in plan.cables if cable.a.side == "up" and cable.in_service and cable.a.address is not None
    ]
    assert len(sessions) == 2 * len(between_switches) > 0
    pairs: dict[tuple[str, str], int] = defaultdict(int)
    for name, peer, _ in sessions:
        pairs[name, peer] += 1
    assert all(pairs[name, peer] == pairs[peer, name] for name, peer in pairs)


def test_router_ids_and_announced_prefixes_are_unique_within_a_fabric() -> None:
    plan = plan_of("lab-roce")
    seen: dict[tuple[str, str], str] = {}
    for name, speaker in speakers_of(plan).items():
        fabric = plan.by_name[name].fabric
        for item in (speaker.router_id, *speaker.networks):
            assert seen.setdefault((fabric, item), name) == name
        for network in speaker.networks:
            ip_network(network)


def test_equal_cost_paths_cover_all_uplinks() -> None:
    plan = plan_of("lab-roce")
    for device in plan.devices_of("ctsw", "atsw"):
        (artifact,) = Rendering(plan).of_device(device.name)
        match = EOS_PATHS.search(artifact.content.decode())
        assert match is not None
        up = [cable for cable in plan.cables_of[device.name] if cable.a.device == device.name and cable.a.side == "up"]
        assert int(match[1]) >= max(1, len(up))
