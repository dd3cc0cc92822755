"""SONiC's config_db.json: the schema written from its YANG models takes it, every reference leads somewhere, and it
says what the other systems say of the same plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.golden_files import assert_golden
from tests.plans import plan_of, plan_with
from tests.switches.bonded import bonded

from clusterwright import data_files
from clusterwright.intent.headroom import headroom_cells
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan, format_address

NAME = "rtsw-p00r00"
PATH = "etc/sonic/config_db.json"
# Where a field's value must be a row of another table, as the leafrefs of SONiC's YANG models have it.
FIELDS = {
    ("ACL_TABLE", "ports"): "PORT",
    ("BGP_NEIGHBOR", "peer_group_name"): "BGP_PEER_GROUP",
    ("BGP_PEER_GROUP_AF", "route_map_in"): "ROUTE_MAP_SET",
    ("BGP_PEER_GROUP_AF", "route_map_out"): "ROUTE_MAP_SET",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
    ("DEVICE_NEIGHBOR", "local_port"): "PORT",
    ("NTP", "src_intf"): "MGMT_PORT",
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "pfc_to_pg_map"): "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("ROUTE_MAP", "match_community"): "COMMUNITY_SET",
    ("ROUTE_MAP", "match_prefix_set"): "PREFIX_SET",
    ("TACPLUS", "src_intf"): "MGMT_PORT",
}
# Where a part of a row's key must be a row of another table: the part's place, the table.
KEYS = {
    "ACL_RULE": (0, "ACL_TABLE"),
    "BGP_GLOBALS_AF": (0, "BGP_GLOBALS"),
    "BGP_GLOBALS_AF_NETWORK": (0, "BGP_GLOBALS"),
    "BGP_NEIGHBOR": (0, "BGP_GLOBALS"),
    "BGP_NEIGHBOR_AF": (1, "BGP_NEIGHBOR"),
    "BGP_PEER_GROUP": (0, "BGP_GLOBALS"),
    "BGP_PEER_GROUP_AF": (1, "BGP_PEER_GROUP"),
    "BREAKOUT_CFG": (0, "PORT"),
    "BUFFER_PG": (0, "PORT"),
    "BUFFER_QUEUE": (0, "PORT"),
    "INTERFACE": (0, "PORT"),
    "MGMT_INTERFACE": (0, "MGMT_PORT"),
    "PORTCHANNEL_MEMBER": (1, "PORT"),
    "PORT_QOS_MAP": (0, "PORT"),
    "PREFIX": (0, "PREFIX_SET"),
    "QUEUE": (0, "PORT"),
    "ROUTE_MAP": (0, "ROUTE_MAP_SET"),
    "VLAN_INTERFACE": (0, "VLAN"),
    "VLAN_MEMBER": (1, "PORT"),
}
MARKING = """
fabrics:
  - name: backend
    classes:
      - name: rdma
        ecn: mark
        marking: {min_kbytes: 1000, max_kbytes: 3000, percent: 10, assumed: "figures of a test"}
"""
ADDRESSES = ("INTERFACE", "LOOPBACK_INTERFACE", "MGMT_INTERFACE", "VLAN_INTERFACE")
Tables = Mapping[str, Any]


def config(plan: Plan, name: str = NAME) -> dict[str, Any]:
    (content,) = (artifact.content for artifact in Rendering(plan).of_device(name) if artifact.path == PATH)
    document: dict[str, Any] = json.loads(content)
    return document


def validator() -> Draft202012Validator:
    schema = json.loads((data_files.folder("inventory") / "schema" / "sonic-config-db.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def missing_rows(tables: Tables) -> Iterator[str]:
    """Names that no row of the table they mean has."""
    joined = {key: tables.get("PORTCHANNEL", {}) for key in ("ACL_TABLE", "VLAN_MEMBER")}
    for (table, field), target in FIELDS.items():
        rows = {part for key in (*tables.get(target, ()), *joined.get(table, ())) for part in (key, *key.split("|"))}
        for key, row in tables.get(table, {}).items():
            wanted = row.get(field, ())
            for name in (wanted,) if isinstance(wanted, str) else wanted:
                if name not in rows:
                    yield f"{table}|{key}: {field} {name} is not in {target}"
    for table, (place, target) in KEYS.items():
        rows = {part for key in (*tables.get(target, ()), *joined.get(table, ())) for part in (key, *key.split("|"))}
        for key in tables.get(table, ()):
            if key.split("|")[place] not in rows:
                yield f"{table}|{key} is not in {target}"
    for row in tables.get("CABLE_LENGTH", {}).values():
        yield from (f"CABLE_LENGTH: no port {name}" for name in set(row) - set(tables["PORT"]))
    yield from (f"PFC_WD: no port {name}" for name in set(tables.get("PFC_WD", ())) - {"GLOBAL", *tables["PORT"]})
    types = {row["type"] for row in tables.get("ACL_TABLE", {}).values()}
    yield from (f"ACL_TABLE: no type {name}" for name in types - {"CTRLPLANE", *tables.get("ACL_TABLE_TYPE", ())})


def contradictions(tables: Tables) -> Iterator[str]:
    """Values of two fields that do not fit each other, and what two rows claim for themselves."""
    for name, row in tables.get("WRED_PROFILE", {}).items():
        if int(row["green_min_threshold"]) > int(row["green_max_threshold"]):
            yield f"WRED_PROFILE|{name}: minimum above maximum"
    poll = int(tables.get("PFC_WD", {}).get("GLOBAL", {}).get("POLL_INTERVAL", 0))
    for name, row in tables.get("PFC_WD", {}).items():
        if name != "GLOBAL" and min(int(row["detection_time"]), int(row["restoration_time"])) < poll:
            yield f"PFC_WD|{name}: shorter than the polling interval"
    uses = [
        ("address", key.split("|")[1].split("/")[0]) for name in ADDRESSES for key in tables.get(name, ()) if "|" in key
    ]
    for field in ("alias", "lanes"):
        uses += [(field, each) for row in tables["PORT"].values() for each in row[field].split(",")]
    # Ports of one cage share its place on the front panel.
    uses += [("place", f"{row['index']}/{row.get('subport', 0)}") for row in tables["PORT"].values()]
    yield from (f"{kind} {each} is used twice" for (kind, each), count in Counter(uses).items() if count > 1)


def objections(tables: Tables) -> list[str]:
    found = [f"{error.json_path}: {error.message}" for error in validator().iter_errors(tables)]
    return found or [*missing_rows(tables), *contradictions(tables)]


def test_a_switch_is_rendered_as_reviewed() -> None:
    for artifact in Rendering(plan_of("lab-sonic")).of_device(NAME):
        assert_golden(f"lab-sonic/{NAME}/{artifact.path}", artifact.content)


def test_every_switch_passes_the_schema_and_its_references() -> None:
    plan = plan_of("lab-sonic")
    for device in plan.devices:
        if device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "sonic":
            assert objections(config(plan, device.name)) == []


def test_bonds_pass_the_schema_and_a_port_of_one_is_nothing_else() -> None:
    plan = bonded("sonic")
    for device in plan.devices:
        if device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "sonic":
            tables = config(plan, device.name)
            assert objections(tables) == []
            parts = {key.partition("|")[2] for key in tables["PORTCHANNEL_MEMBER"]}
            assert len(parts) == 2 * len(tables["PORTCHANNEL"]) > 0
            asked = {name for table in tables["ACL_TABLE"].values() for name in table.get("ports", ())}
            assert not parts & {*asked, *(key.partition("|")[2] for key in tables["VLAN_MEMBER"]), *tables["INTERFACE"]}
            assert not any("mtu" in tables["PORT"][name] for name in parts)


@pytest.mark.parametrize(
    ("overlay", "table"),
    [
        ("site:\n  aaa: {protocol: radius}\n", "RADIUS_SERVER"),
        (
            MARKING,
            "WRED_PROFILE",
        ),
        ('exceptions:\n  - {device: rtsw-p00r00, state: drained, reason: "a test"}\n', "ROUTE_MAP"),
    ],
)
def test_other_choices_pass_too(overlay: str, table: str, tmp_path: Path) -> None:
    tables = config(plan_with(tmp_path, "lab-sonic", overlay))
    assert tables[table]
    assert objections(tables) == []


@pytest.mark.parametrize(
    ("where", "value", "complaint"),
    [
        (("PORT", "Ethernet0", "fec"), "reed-solomon", "not one of"),
        (("PORT", "Ethernet0", "mtu"), "9300", "does not match"),
        (("PORT", "Ethernet0", "speeed"), "400000", "unexpected"),
        (("PORTS",), {}, "unexpected"),
        (("DSCP_TO_TC_MAP", "CLASSES", "64"), "0", "does not match"),
        (("PFC_WD", "Ethernet0", "detection_time"), "50", "does not match"),
        (("BUFFER_PROFILE", "egress_lossy_profile", "dynamic_th"), "9", "does not match"),
        (("CABLE_LENGTH", "AZURE", "Ethernet0"), "2.5m", "does not match"),
        (("SNMP_USER", "monitoring", "SNMP_USER_AUTH_PASSWORD"), "<secret snmp-auth>", "does not match"),
        (("PORT_QOS_MAP", "Ethernet0", "pfc_enable"), "2,8", "does not match"),
        (("PORT_QOS_MAP", "Ethernet0", "tc_to_pg_map"), "OTHER", "is not in TC_TO_PRIORITY_GROUP_MAP"),
        (("BUFFER_PG", "Ethernet0|2", "profile"), "pg_lossless", "is not in BUFFER_PROFILE"),
        (("BUFFER_PROFILE", "egress_lossy_profile", "pool"), "egress", "is not in BUFFER_POOL"),
        (("BUFFER_QUEUE", "Ethernet999|2"), {"profile": "egress_lossy_profile"}, "is not in PORT"),
        (("BGP_PEER_GROUP_AF", "default|UP|ipv6_unicast", "route_map_out"), ["TO-NOBODY"], "is not in ROUTE_MAP_SET"),
        (("INTERFACE", "Ethernet8|fd00:1ab:b::2/127"), {}, "used twice"),
        (("PORT", "Ethernet0", "lanes"), "1,2,3,4,5,6,7,8", "used twice"),
        (("PFC_WD", "GLOBAL", "POLL_INTERVAL"), "1000", "shorter than the polling interval"),
    ],
)
def test_what_the_models_refuse_is_refused(where: tuple[str, ...], value: Any, complaint: str) -> None:
    tables = deepcopy(config(plan_of("lab-sonic")))
    at: Any = tables
    for part in where[:-1]:
        at = at[part]
    at[where[-1]] = value
    assert any(complaint in text for text in objections(tables))


def test_neighbours_are_those_of_the_plan() -> None:
    plan = plan_of("lab-sonic")
    neighbours = config(plan)["BGP_NEIGHBOR"]
    uplinks = [cable for cable in plan.cables_of[NAME] if cable.a.device == NAME and cable.a.side == "up"]
    assert {key.split("|")[1]: row["asn"] for key, row in neighbours.items()} == {
        format_address(cable.b.address or 0, 6): str(plan.by_name[cable.b.device].asn) for cable in uplinks
    }


def test_the_classes_are_those_of_fboss() -> None:
    tables = config(plan_of("lab-sonic"))
    artifacts = {artifact.path: artifact.content for artifact in Rendering(plan_of("lab-roce")).of_device(NAME)}
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
    assert tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"]["CLASSES"] == {"2": "2"}
    xoff = {name: int(row["xoff"]) for name, row in tables["BUFFER_PROFILE"].items() if "xoff" in row}
    assert xoff == {
        "pg_lossless_400000_2m_profile": headroom_cells(400, 2, 9000) * 254,
        "pg_lossless_400000_20m_profile": headroom_cells(400, 20, 9000) * 254,
    }


def test_weights_beyond_what_the_models_take_keep_their_proportions(tmp_path: Path) -> None:
    classes = "[{name: default, weight: 50}, {name: rdma, weight: 200}, {name: monitoring, weight: 1}]"
    plan = plan_with(tmp_path, "lab-sonic", f"fabrics:\n  - {{name: backend, classes: {classes}}}\n")
    schedulers = config(plan)["SCHEDULER"]
    assert {name: row.get("weight") for name, row in schedulers.items()} == {
        "scheduler.default": "25",
        "scheduler.rdma": "100",
        "scheduler.monitoring": "1",
        "scheduler.control": None,
    }


def test_the_headroom_of_all_ports_fits_the_chip() -> None:
    plan = plan_of("lab-sonic")
    tables = config(plan)
    profiles = tables["BUFFER_PROFILE"]
    needed = sum(int(profiles[row["profile"]].get("xoff", 0)) for row in tables["BUFFER_PG"].values())
    pool = tables["BUFFER_POOL"]["ingress_lossless_pool"]
    buffer = plan.spec.catalogue[plan.by_name[NAME].model].buffer
    assert buffer is not None
    assert int(pool["xoff"]) == needed
    assert int(pool["xoff"]) + int(pool["size"]) == buffer.size_bytes


def test_who_reaches_its_services_follows_from_the_flows() -> None:
    rules = {key: row for key, row in config(plan_of("lab-sonic"))["ACL_RULE"].items() if "SOURCES" in key}
    assert {(key.split("|")[0], row["SRC_IP"]) for key, row in rules.items()} == {
        ("SSH_SOURCES", "10.99.240.0/24"),
        ("SNMP_SOURCES", "10.99.240.0/24"),
        ("GNMI_SOURCES", "10.99.240.0/24"),
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
