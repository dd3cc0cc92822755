"""SONiC's config_db.json: every reference leads somewhere, and it says what the other systems say of the same plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden_files import assert_golden
from tests.render.plans import plan_of, plan_with

from clusterwright.plan.model import Plan, format_address
from clusterwright.render.engine import render_device
from clusterwright.render.headroom import headroom_cells

NAME = "rtsw-p00r00"
# Where a field's value must be a row of another table, as the leafrefs of SONiC's YANG models have it.
REFERENCES = {
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("DEVICE_NEIGHBOR", "local_port"): "PORT",
    ("ROUTE_MAP", "match_ipv6_prefix_set"): "PREFIX_SET",
    ("ROUTE_MAP", "match_community"): "COMMUNITY_SET",
}


def config(plan: Plan, name: str = NAME) -> dict[str, Any]:
    (artifact,) = render_device(plan, name)
    assert artifact.path == "etc/sonic/config_db.json"
    document: dict[str, Any] = json.loads(artifact.content)
    return document


def test_a_switch_is_rendered_as_reviewed() -> None:
    (artifact,) = render_device(plan_of("lab-sonic"), NAME)
    assert_golden(f"lab-sonic/{NAME}/{artifact.path}", artifact.content)


def test_every_reference_leads_somewhere() -> None:
    tables = config(plan_of("lab-sonic"))
    for (table, field), target in REFERENCES.items():
        for row in tables.get(table, {}).values():
            assert row.get(field) in {None, *tables.get(target, ())}, (table, field)
    ports = set(tables["PORT"])
    for table in ("INTERFACE", "BUFFER_PG", "QUEUE"):
        assert {key.split("|")[0] for key in tables[table]} <= ports
    maps = {key.split("|")[0] for key in tables["ROUTE_MAP"]}
    assert maps == set(tables["ROUTE_MAP_SET"])
    for row in tables["BGP_PEER_GROUP_AF"].values():
        assert {*row["route_map_in"], *row["route_map_out"]} <= maps
    groups = {key.split("|")[1] for key in tables["BGP_PEER_GROUP"]}
    assert {row["peer_group_name"] for row in tables["BGP_NEIGHBOR"].values()} <= groups


def test_lanes_and_addresses_are_used_once() -> None:
    tables = config(plan_of("lab-sonic"))
    lanes = [lane for port in tables["PORT"].values() for lane in port["lanes"].split(",")]
    assert len(lanes) == len(set(lanes)) == 64 * 8
    addresses = [key.split("|")[1] for key in tables["INTERFACE"] if "|" in key]
    assert len(addresses) == len(set(addresses)) == 32


def test_neighbours_are_those_of_the_plan() -> None:
    plan = plan_of("lab-sonic")
    neighbours = config(plan)["BGP_NEIGHBOR"]
    uplinks = [cable for cable in plan.cables_of[NAME] if cable.a.device == NAME and cable.a.side == "up"]
    assert {key.split("|")[1]: row["asn"] for key, row in neighbours.items()} == {
        format_address(cable.b.address or 0, 6): str(plan.by_name[cable.b.device].asn) for cable in uplinks
    }


def test_the_classes_are_those_of_fboss() -> None:
    tables = config(plan_of("lab-sonic"))
    artifacts = {artifact.path: artifact.content for artifact in render_device(plan_of("lab-roce"), NAME)}
    (policy,) = json.loads(artifacts["etc/coop/agent.conf"])["sw"]["qosPolicies"]
    fboss = {
        str(dscp): str(entry["internalTrafficClass"])
        for entry in policy["qosMap"]["dscpMaps"]
        for dscp in entry["fromDscpToTrafficClass"]
    }
    assert tables["DSCP_TO_TC_MAP"]["CLASSES"] == fboss
    assert {key: int(value) for key, value in tables["TC_TO_QUEUE_MAP"]["CLASSES"].items()} == policy["qosMap"][
        "trafficClassToQueueId"
    ]
    assert tables["SCHEDULER"]["scheduler.control"] == {"type": "STRICT"}
    xoff = {name: int(row["xoff"]) for name, row in tables["BUFFER_PROFILE"].items()}
    assert xoff == {
        "pg_lossless_400000_2m_profile": headroom_cells(400, 2, 9000) * 254,
        "pg_lossless_400000_20m_profile": headroom_cells(400, 20, 9000) * 254,
    }


@pytest.mark.parametrize("state", ["drained", "out-of-service"])
def test_draining_changes_route_maps_alone(state: str, tmp_path: Path) -> None:
    overlay = f'exceptions:\n  - {{device: {NAME}, state: {state}, reason: "a test"}}\n'
    before, after = config(plan_of("lab-sonic")), config(plan_with(tmp_path, "lab-sonic", overlay))
    changed = {table for table in before if before[table] != after.get(table)}
    assert ("PORT" in changed) == (state == "out-of-service")
    if state == "drained":
        assert changed == {"ROUTE_MAP"}
        assert after["ROUTE_MAP"]["TO-UP|10"] == {"route_operation": "deny"}
