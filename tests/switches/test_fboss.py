"""FBOSS configurations: the schemas written from the IDL accept them, and they say what the plan says."""

from __future__ import annotations

import json
from collections import Counter
from configparser import ConfigParser
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.intent.headroom import headroom_cells
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Device, Plan, format_address
from clusterwright.spec.hardware.platform_ports import PlatformPortError
from clusterwright.spec.hardware.platforms import platforms

SPECS = ("lab-roce", "roce-24k")
AGENT, BGP = "etc/coop/agent.conf", "etc/coop/bgpcpp.conf"


def fboss_switches(plan: Plan) -> list[Device]:
    return [
        device
        for device in plan.devices
        if device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "fboss"
    ]


def configs(plan: Plan, name: str) -> dict[str, Any]:
    files = {artifact.path: artifact.content for artifact in Rendering(plan).of_device(name)}
    return {path: json.loads(files[path]) for path in (AGENT, BGP)}


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((data_files.folder("inventory") / "schema" / name).read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def one_of_each_kind(plan: Plan) -> list[str]:
    """A switch for every role, model and number of links: those that differ in more than names."""
    kinds = {(d.role, d.model, len(plan.cables_of[d.name]), d.state): d.name for d in fboss_switches(plan)}
    return sorted(kinds.values())


@pytest.mark.parametrize("spec", SPECS)
def test_the_schemas_accept_every_kind_of_switch(spec: str) -> None:
    plan = plan_of(spec)
    agent, bgp = validator("fboss-agent.schema.json"), validator("fboss-bgp.schema.json")
    names = one_of_each_kind(plan)
    assert names
    for name in names:
        files = configs(plan, name)
        assert not [f"{name} {e.json_path}: {e.message}" for e in agent.iter_errors(files[AGENT])]
        assert not [f"{name} {e.json_path}: {e.message}" for e in bgp.iter_errors(files[BGP])]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("sw", "ports", 0, "state"), 3),
        (("sw", "ports", 0, "speed"), 400),
        (("sw", "ports", 0, "profileId"), 26),
        (("sw", "ports", 0, "expectedLLDPValues"), {"7": "x"}),
        (("sw", "qosPolicies", 0, "qosMap", "trafficClassToQueueId"), {"8": 0}),
        (("sw", "bufferPoolConfigs", "lossless", "sharedBytes"), 2**31),
        (("sw", "udfConfig", "udfPacketMatcher", "l4UdpRoce", "UdfL4DstPort"), 40000),
    ],
)
def test_the_agent_schema_refuses_what_the_idl_refuses(where: tuple[str | int, ...], value: Any) -> None:
    config = configs(plan_of("lab-roce"), "rtsw-p00r00")[AGENT]
    at: Any = config
    for part in where[:-1]:
        at = at[part]
    at[where[-1]] = value
    assert not validator("fboss-agent.schema.json").is_valid(config)


@pytest.mark.parametrize("spec", SPECS)
def test_ports_interfaces_and_neighbours_are_those_of_the_plan(spec: str) -> None:
    plan = plan_of(spec)
    for name in one_of_each_kind(plan):
        sw = configs(plan, name)[AGENT]["sw"]
        ports = {port["name"]: port for port in sw["ports"]}
        interfaces = {entry["vlanID"]: entry for entry in sw["interfaces"]}
        seen = set()
        for cable in plan.cables_of[name]:
            own, peer = (cable.a, cable.b) if cable.a.device == name else (cable.b, cable.a)
            if own.side == "management":
                continue
            seen.add(own.port)
            port = ports[own.port]
            assert port["speed"] == own.speed_gbps * 1000
            assert port["state"] == (2 if cable.in_service else 1)
            assert port["expectedLLDPValues"] == {"2": peer.port, "5": peer.device}
            if own.address is not None:
                text = format_address(own.address, plan.address_version(own.fabric))
                assert interfaces[port["ingressVlan"]]["ipAddresses"] == [f"{text}/{own.prefix_length}"]
        assert seen == set(ports)


def test_ids_are_unique_and_refer_to_each_other() -> None:
    plan = plan_of("lab-roce")
    for device in fboss_switches(plan):
        sw = configs(plan, device.name)[AGENT]["sw"]
        vlans = [vlan["id"] for vlan in sw["vlans"]]
        ids = [port["logicalID"] for port in sw["ports"]]
        assert max(Counter(vlans).values()) == max(Counter(ids).values()) == 1
        assert {(port["ingressVlan"], port["logicalID"]) for port in sw["ports"]} == {
            (entry["vlanID"], entry["logicalPort"]) for entry in sw["vlanPorts"]
        }
        assert {entry["vlanID"] for entry in sw["interfaces"]} == set(vlans) - {sw["defaultVlan"]}
        for port in sw["ports"]:
            assert port.get("portQueueConfigName", "") in {"", *sw.get("portQueueConfigs", {})}
            assert port.get("pfc", {}).get("portPgConfigName", "") in {"", *sw.get("portPgConfigs", {})}


def test_lossless_transport_has_the_published_figures() -> None:
    sw = configs(plan_of("lab-roce"), "rtsw-p00r00")[AGENT]["sw"]
    (policy,) = sw["qosPolicies"]
    maps = {entry["internalTrafficClass"]: entry["fromDscpToTrafficClass"] for entry in policy["qosMap"]["dscpMaps"]}
    assert maps[2] == [50, 51, 52, 53, 54, 55, 57, 58, 59]
    assert maps[7] == [48, 56]
    assert sorted(dscp for dscps in maps.values() for dscp in dscps) == list(range(64))
    assert policy["qosMap"]["pfcPriorityToPgId"] == {"2": 2}
    queues = {queue["id"]: queue for queue in sw["portQueueConfigs"]["backend"]}
    assert {number: queue.get("weight") for number, queue in queues.items()} == {0: 5, 2: 8, 6: 15, 7: None}
    assert {number: queue["scheduling"] for number, queue in queues.items()} == {0: 0, 2: 0, 6: 0, 7: 1}
    headroom = {
        name: {group["id"]: group["headroomLimitBytes"] for group in groups}
        for name, groups in sw["portPgConfigs"].items()
    }
    assert headroom["downlinks"] == {0: 0, 2: headroom_cells(400, 2, 9000) * 254, 6: 0, 7: 0}
    assert headroom["uplinks"] == {0: 0, 2: headroom_cells(400, 20, 9000) * 254, 6: 0, 7: 0}
    cells = sum(16 * headroom_cells(400, length_m, 9000) for length_m in (2, 20))
    pool = {"sharedBytes": (229_217 - cells) * 254, "headroomBytes": cells * 254}
    assert sw["bufferPoolConfigs"]["lossless"] == pool
    group = sw["udfConfig"]["udfGroups"]["dstQueuePair"]
    assert (group["header"], group["startOffsetInBytes"], group["fieldSizeInBytes"]) == (3, 13, 3)
    assert [entry["fieldSelection"]["udfGroups"] for entry in sw["loadBalancers"]] == [["dstQueuePair"], []]


def test_copper_and_fibre_get_their_own_profiles() -> None:
    ports = {
        port["name"]: port["profileID"] for port in configs(plan_of("lab-roce"), "rtsw-p00r00")[AGENT]["sw"]["ports"]
    }
    assert ports["eth2/1/1"] == 35  # PROFILE_400G_8_PAM4_RS544X2N_COPPER
    assert ports["eth8/1/1"] == 26  # PROFILE_400G_8_PAM4_RS544X2N_OPTICAL


@pytest.mark.parametrize(
    ("platform", "name", "logical_id"),
    [
        ("PLATFORM_FUJI", "eth2/1/1", 3),
        ("PLATFORM_FUJI", "eth9/16/1", 143),
        ("PLATFORM_WEDGE400", "eth1/16/1", 137),
        ("PLATFORM_WEDGE400", "eth1/48/4", 135),
        ("PLATFORM_WEDGE400_GRANDTETON", "eth1/2/3", 34),
    ],
)
def test_logical_ids_are_those_of_the_platform_mappings(platform: str, name: str, logical_id: int) -> None:
    assert platforms()["fboss", platform].port(name, None).number == logical_id


def test_a_port_the_platform_lacks_is_an_error_for_people() -> None:
    known = platforms()
    with pytest.raises(PlatformPortError, match="has no port eth1/1/2"):
        known["fboss", "PLATFORM_WEDGE400"].port("eth1/1/2", None)
    elbert = replace(plan_of("lab-roce").spec.catalogue["wedge400"], platform="PLATFORM_ELBERT", platform_ports=None)
    with pytest.raises(PlatformPortError, match="nothing is known of the platform PLATFORM_ELBERT"):
        elbert.platform_port("eth1/1/1", None)
    with pytest.raises(PlatformPortError, match="no speed profile for 400G"):
        known["fboss", "PLATFORM_FUJI"].port("eth2/2/1", None).profile("eth2/2/1", 400, "smf", 8)


def test_ports_of_a_split_cage_have_profiles_of_the_lanes_that_their_mode_gives_each() -> None:
    """The first of four at 50G took two lanes over fibre, one of them its neighbour's."""
    known = platforms()["fboss", "PLATFORM_WEDGE400"]
    for subport in (1, 2, 3, 4):
        name = f"eth1/17/{subport}"
        assert known.port(name, None).profile(name, 50, "mmf", 1) == 43
    with pytest.raises(PlatformPortError, match="no speed profile for 50G on 2 lanes"):
        known.port("eth1/17/2", None).profile("eth1/17/2", 50, "mmf", 2)


def test_the_switch_is_reachable_out_of_band() -> None:
    plan = plan_of("lab-roce")
    files = {artifact.path: artifact for artifact in Rendering(plan).of_device("rtsw-p00r00")}
    assert files["etc/hostname"].content == b"rtsw-p00r00\n"
    profile = files["etc/NetworkManager/system-connections/eth0.nmconnection"]
    assert profile.mode == 0o600
    parsed = ConfigParser()
    parsed.read_string(profile.content.decode())
    cable = next(cable for cable in plan.cables_of["rtsw-p00r00"] if cable.a.side == "management")
    gateway = plan.host_subnet_of["management", cable.b.device].gateway
    assert cable.a.address is not None
    assert gateway is not None
    address = f"{format_address(cable.a.address, 4)}/{cable.a.prefix_length}"
    assert (parsed["ipv4"]["method"], parsed["ipv4"]["address1"]) == ("manual", address)
    routes = [parsed["ipv4"][key] for key in sorted(parsed["ipv4"]) if key.startswith("route")]
    assert routes == [f"{net},{format_address(gateway, 4)}" for net in ("10.99.0.0/23", "10.99.240.0/24")]
    assert parsed["ipv6"]["method"] == "disabled"
    assert parsed["connection"]["interface-name"] == "eth0"
