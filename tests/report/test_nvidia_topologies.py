"""Topologies for NVIDIA Air and NVIDIA's infra controller, held against what their documentation and source ask for."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tests.cli.in_process import command
from tests.plans import plan_of

from clusterwright import data_files

INVENTORY = data_files.folder("inventory")
# CumulusNetworks/docs, content/nvidia-air-v2/Custom-Topology.md, and the reference of the API's
# `POST /api/v3/simulations/import/`: the keys of the documented examples, and which of them are required.
LINK_END = {
    "type": "object",
    "required": ["node", "interface"],
    "additionalProperties": False,
    "properties": {
        "node": {"type": "string"},
        "interface": {"type": "string"},
        "mac": {"type": "string", "pattern": "^([0-9a-f]{2}:){5}[0-9a-f]{2}$"},
    },
}
RESOURCE = {"type": "integer", "minimum": 1}
AIR_IMPORT = {
    "type": "object",
    "required": ["format", "title", "content"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": "JSON"},
        "title": {"type": "string", "maxLength": 128},
        "ztp": {"type": ["string", "null"]},
        "content": {
            "type": "object",
            "required": ["nodes", "links"],
            "additionalProperties": False,
            "properties": {
                "oob": {"type": "boolean"},
                "nodes": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["os"],
                        "additionalProperties": False,
                        "properties": {
                            "os": {"pattern": r"^(cumulus-vx-\d+\.\d+\.\d+|generic/ubuntu2404)$"},
                            "cpu": RESOURCE,
                            "memory": RESOURCE,
                            "storage": RESOURCE,
                        },
                    },
                },
                "links": {"type": "array", "items": {"type": "array", "items": LINK_END, "minItems": 2, "maxItems": 2}},
            },
        },
    },
}
# NVIDIA/infra-controller, crates/admin-cli/src/expected_*/common.rs: what `replace-all` reads of an entry. Those
# without a default are required; METADATA is forge.Metadata of crates/rpc/proto/forge.proto, within the limits of
# crates/api-model/src/metadata.rs.
METADATA = {
    "type": "object",
    "required": ["name", "description", "labels"],
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 256},
        "labels": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "required": ["key", "value"],
                "properties": {"value": {"type": "string", "maxLength": 255}},
            },
        },
    },
}
MAC = {"type": "string", "pattern": "^([0-9A-F]{2}:){5}[0-9A-F]{2}$"}
COMMON = {
    "bmc_mac_address": MAC,
    "bmc_username": {"type": "string"},
    "bmc_password": {"type": "string"},
    "bmc_ip_address": {"type": "string"},
    "rack_id": {"type": "string"},
    "metadata": METADATA,
}
CREDENTIALS = ["bmc_mac_address", "bmc_username", "bmc_password"]
EXPECTED = {
    "expected_machines": {
        "required": [*CREDENTIALS, "chassis_serial_number"],
        "properties": {**COMMON, "chassis_serial_number": {"type": "string"}},
    },
    "expected_switches": {
        "required": [*CREDENTIALS, "switch_serial_number"],
        "properties": {
            **COMMON,
            "switch_serial_number": {"type": "string"},
            "nvos_mac_addresses": {"type": "array", "items": MAC},
        },
    },
    "expected_racks": {
        "required": ["rack_id", "rack_profile_id"],
        "properties": {
            "rack_id": {"type": "string"},
            "rack_profile_id": {"type": "string"},
            "metadata": METADATA,
        },
    },
}


def written(form: str, spec: Path, folder: Path, *options: str) -> Path:
    """The folder that the inventory of this form was written into."""
    out = folder / form
    done = command("inventory", spec, "--format", form, "--out", out, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return out


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["lab-nvue", "b300-spectrum-x"])
def test_air_takes_the_topology_and_each_cable_is_a_link_or_left_out(name: str, tmp_path: Path) -> None:
    out = written("air", INVENTORY / f"{name}.yaml", tmp_path)
    document = json.loads((out / "topology.json").read_text())
    jsonschema.validate(document, AIR_IMPORT)
    content = document["content"]
    ends = Counter((end["node"], end["interface"]) for link in content["links"] for end in link)
    assert set(ends.values()) == {1}
    assert {node for node, _ in ends} <= content["nodes"].keys()
    left_out = rows_of(out / "left-out.csv")
    linked = {frozenset((end["node"], end["interface"]) for end in link) for link in content["links"]}
    unlinked = {
        frozenset(((row["device"], row["port"]), (row["far_device"], row["far_port"])))
        for row in left_out
        if row["kind"] == "cable"
    }
    plan = plan_of(name)
    assert linked | unlinked == {
        frozenset(((cable.a.device, cable.a.port), (cable.b.device, cable.b.port))) for cable in plan.cables
    }
    data = [fabric.name for fabric in plan.spec.fabrics if not fabric.is_management]
    assert len(linked) == sum(cable.fabric in data for cable in plan.cables)
    absent = {row["device"] for row in left_out if row["kind"] == "device"}
    assert content["nodes"].keys() | absent == {device.name for device in plan.devices}
    assert not content["nodes"].keys() & absent


def test_links_of_air_name_interfaces_of_the_rendered_configuration(tmp_path: Path) -> None:
    spec = INVENTORY / "lab-nvue.yaml"
    content = json.loads((written("air", spec, tmp_path) / "topology.json").read_text())["content"]
    assert command("render", spec, "--out", tmp_path / "rendered", cwd=tmp_path).returncode == 0
    compared = 0
    for link in content["links"]:
        for end in link:
            file = tmp_path / "rendered" / end["node"] / "etc/clusterwright/nvue.yaml"
            if file.exists():
                assert f"\n      {end['interface']}:\n" in file.read_text(), end
                compared += 1
    assert compared > len(content["links"])


def test_air_names_the_release_of_each_switch_and_the_addresses_of_labels(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    document = yaml.safe_load((INVENTORY / "lab-nvue.yaml").read_text())
    document["fabrics"][0]["tiers"][0]["release"] = "5.15"
    spec.write_text(yaml.safe_dump(document))
    (tmp_path / "cluster.overlay.csv").write_text("device,port,mac\ngpu-p00r00n0,fe0,0c:42:a1:5b:00:0c\n")
    content = json.loads((written("air", spec, tmp_path) / "topology.json").read_text())["content"]
    assert content["nodes"]["rtsw-p00r00"]["os"] == "cumulus-vx-5.15.0"
    assert content["nodes"]["ctsw-p00-00"]["os"] == "cumulus-vx-5.10.0"
    macs = [(end["node"], end["interface"], end["mac"]) for link in content["links"] for end in link if "mac" in end]
    assert macs == [("gpu-p00r00n0", "fe0", "0c:42:a1:5b:00:0c")]


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_a_cluster_without_a_switch_that_air_simulates_is_refused(name: str, tmp_path: Path) -> None:
    asked = ("inventory", INVENTORY / f"{name}.yaml", "--format", "air", "--out", tmp_path / "air")
    done = command(*asked, cwd=tmp_path)
    assert (done.returncode, "no Ethernet switch with Cumulus Linux" in done.stderr) == (2, True)
    assert not (tmp_path / "air").exists()


def labelled(spec: Path) -> None:
    """Write the overlay file of a spec: serial and MAC addresses of every node and switch tray."""
    rows = ["device,port,serial,mac"]
    number = 0
    plan = plan_of("published/gb200-1su")
    for device in plan.devices:
        if device.kind == "switch":
            continue
        rows.append(f"{device.name},,SN-{device.name},")
        for port in plan.spec.catalogue[device.model].management_names:
            number += 1
            rows.append(f"{device.name},{port},,0c:42:a1:5b:{number >> 8:02x}:{number & 255:02x}")
    spec.with_suffix(".overlay.csv").write_text("\n".join(rows) + "\n")


def entries(out: Path, name: str) -> list[dict[str, Any]]:
    document = json.loads((out / f"{name}.json").read_text())
    assert document.keys() == {name, f"{name}_count"}
    assert document[f"{name}_count"] == len(document[name])
    listed: list[dict[str, Any]] = document[name]
    return listed


def problems(name: str, entry: dict[str, Any]) -> list[str]:
    schema = {"type": "object", "additionalProperties": False, **EXPECTED[name]}
    return sorted(error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(entry))


def test_the_infra_controller_lacks_what_no_spec_has_and_nothing_else(tmp_path: Path) -> None:
    """With every label read, an entry lacks the BMC's account alone, and a rack its profile."""
    spec = tmp_path / "cluster.yaml"
    spec.write_text(f"extends: {INVENTORY / 'published/gb200-1su.yaml'}\n")
    labelled(spec)
    out = written("infra-controller", spec, tmp_path)
    lacking = [f"'{key}' is a required property" for key in ("bmc_password", "bmc_username")]
    for name, counted in (("expected_machines", 144), ("expected_switches", 72)):
        listed = entries(out, name)
        assert len(listed) == counted
        for entry in listed:
            assert problems(name, entry) == lacking
            assert problems(name, entry | {"bmc_username": "root", "bmc_password": "delivered"}) == []
    racks = entries(out, "expected_racks")
    assert {rack["rack_id"] for rack in racks} == {entry["rack_id"] for entry in entries(out, "expected_machines")}
    for rack in racks:
        assert problems("expected_racks", rack) == ["'rack_profile_id' is a required property"]
        assert problems("expected_racks", rack | {"rack_profile_id": "NVL72"}) == []
    tray = entries(out, "expected_switches")[0]
    assert len(tray["nvos_mac_addresses"]) == 2
    missing = {(row["file"], row["device"], row["key"]) for row in rows_of(out / "missing.csv")}
    assert missing == {
        *((f"{name}.json", "every one", key) for name in list(EXPECTED)[:2] for key in CREDENTIALS[1:]),
        ("expected_racks.json", "every one", "rack_profile_id"),
    }


def test_a_node_without_labels_is_listed_and_named_as_incomplete(tmp_path: Path) -> None:
    """`replace-all` deletes what a file leaves out, so a file that is incomplete is refused and not short."""
    out = written("infra-controller", INVENTORY / "lab-nvue.yaml", tmp_path)
    machines = entries(out, "expected_machines")
    plan = plan_of("lab-nvue")
    assert [entry["metadata"]["name"] for entry in machines] == [
        device.name for device in plan.devices if device.kind == "node"
    ]
    assert not (out / "expected_switches.json").exists()
    missing = [row["device"] for row in rows_of(out / "missing.csv") if row["key"] == "chassis_serial_number"]
    assert missing == [entry["metadata"]["name"] for entry in machines]
    for entry in machines:
        assert "'bmc_mac_address' is a required property" in problems("expected_machines", entry)
        bmc = next(cable.a for cable in plan.cables_of[entry["metadata"]["name"]] if cable.a.port == "bmc")
        assert bmc.address is not None
        assert entry["bmc_ip_address"].split(".")[-1] == str(bmc.address & 255)
