"""Devices of management ports alone, nodes with several of these, and what stands inside the racks of others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.lists.dns import zone_files
from clusterwright.lists.interfaces import interfaces
from clusterwright.lists.records import Inventory
from clusterwright.observe.difference import DifferenceKind
from clusterwright.observe.lldp import Neighbour
from clusterwright.observe.lldp_compare import compare_neighbours, not_judged
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.model import Device, Plan, format_address
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.contact import FIRST_CONTACT
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.load import load_spec

LAB = folder("inventory") / "lab-ib.yaml"
MODELS = """version: 1
kind: hardware
models:
  - name: two-bmcs
    kind: node
    manufacturer: Example
    part: N2
    technology: [ethernet, infiniband]
    units: {value: 8, assumed: "an example model"}
    power_w: {value: 10200, assumed: "an example model"}
    weight_kg: {value: 130, assumed: "an example model"}
    management:
      - {name: bmc, speed_gbps: 1, assumed: "an example model"}
      - {name: dpu-bmc, speed_gbps: 1, assumed: "an example model"}
    nics:
      - {group: frontend, speed_gbps: 100, assumed: "an example model", devices: [{interface: fe0}, {interface: fe1}]}
"""
SPEC = """extends: {lab}
name: trays
hardware: [models.yaml]
nodes:
  - {{name: services, model: two-bmcs}}
  - {{name: trays, model: nvl72-switch-tray, role: switch-tray, prefix: nvl,
     inside: {{nodes: compute, level: rack, count: 1}}}}
  - {{name: shelves, model: gb200-power-shelf, role: power-shelf, inside: {{nodes: compute, level: rack, count: 1}}}}
  - {{name: cooling, model: gb200-power-shelf, role: cdu, inside: {{nodes: compute, level: su, count: 1}}}}
"""


def run(*words: str | Path) -> tuple[int, str]:
    """The exit status and the output of a command."""
    done = command(*words, cwd=Path.cwd())
    return done.returncode, done.stdout + done.stderr


def spec_file(where: Path, more: str = "") -> Path:
    (where / "models.yaml").write_text(MODELS)
    file = where / "trays.yaml"
    file.write_text(SPEC.format(lab=LAB) + more)
    return file


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return build_plan(load_spec(spec_file(tmp_path_factory.mktemp("trays"))))


def devices_of(plan: Plan, role: str) -> list[Device]:
    return [device for device in plan.devices if device.role == role]


def addresses_of(plan: Plan, device: str) -> Mapping[str, str]:
    ends = [cable.a for cable in plan.cables_of[device] if cable.a.side == "management"]
    return {end.port: format_address(end.address or 0, 4) for end in ends}


def test_what_stands_inside_stands_in_the_racks_of_the_others(plan: Plan) -> None:
    racks = {device.rack for device in devices_of(plan, "node")}
    trays = devices_of(plan, "switch-tray")
    assert sorted(device.rack for device in trays) == sorted(racks)
    assert {device.kind for device in trays} == {"device"}
    assert {device.rack for device in devices_of(plan, "power-shelf")} == racks
    assert [device.groups for device in devices_of(plan, "cdu")] == [("s00",), ("s01",)]
    in_rack = [device for device in plan.devices if device.rack == "s00r00"]
    assert len({device.unit for device in in_rack}) == len(in_rack)
    found = figures(plan.spec, build_skeleton(plan.spec))
    assert (found["devices.switch-tray"], found["devices.power-shelf"], found["devices.cdu"]) == (4, 4, 2)
    assert found["racks"] == len({*racks, "s02", "v00"})


def test_each_management_port_has_a_cable_an_address_and_a_name(plan: Plan) -> None:
    tray = "nvl-s00r00n0"
    addresses = addresses_of(plan, tray)
    assert list(addresses) == ["bmc", "come0", "come1"]
    assert len(set(addresses.values())) == 3
    assert list(addresses_of(plan, "svc-v00n0")) == ["bmc", "dpu-bmc"]
    inventory = Inventory(plan)
    assert inventory.management_addresses()[tray] == addresses["bmc"]
    lines = zone_files(inventory, 1)["lab.example.net.zone"]
    for name, port in ((tray, "bmc"), (f"bmc.{tray}", "bmc"), (f"come0.{tray}", "come0")):
        assert f"{name} A {addresses[port]}\n" in lines
    listed = [
        interface for interface in interfaces(plan, (plan.by_name[tray],)) if interface.properties.role == "management"
    ]
    assert [(each.name, each.properties.speed_gbps) for each in listed] == [("bmc", 1), ("come0", 1), ("come1", 1)]


def test_nothing_is_rendered_for_them_and_the_proofs_hold(tmp_path: Path, plan: Plan) -> None:
    assert not list(Rendering(plan).of_devices(["nvl-s00r00n0"]))
    status, output = run("verify", spec_file(tmp_path))
    assert status == 0, output


CONTACT = """first_contact: {server: 10.98.241.67, relay_ports: "{port}"}
flows:
  - {name: first-addresses, from: management, to: operations, protocol: udp, ports: [67], reason: DHCP, owner: netops}
  - {name: first-files, from: management, to: operations, protocol: tcp, ports: [80], reason: "files", owner: netops}
"""


def test_each_port_is_reserved_its_address(tmp_path: Path) -> None:
    plan = build_plan(load_spec(spec_file(tmp_path, CONTACT)))
    made = list(Rendering(plan).of_kinds({"first-contact"}))
    kea = next(artifact for artifact in made if artifact.path.endswith("kea-dhcp4.conf"))
    text = kea.content.decode()
    reservations = [each for net in json.loads(text)["Dhcp4"]["subnet4"] for each in net["reservations"]]
    addresses = addresses_of(plan, "nvl-s00r00n0")
    own = {each["ip-address"]: each["hostname"] for each in reservations if each["ip-address"] in addresses.values()}
    names = ["nvl-s00r00n0", "nvl-s00r00n0-come0", "nvl-s00r00n0-come1"]
    assert own == dict(zip(addresses.values(), names, strict=True))

    def verdict(content: str) -> Verdict:
        edited = replace(kea, source=content.encode())
        artifacts = [edited if artifact is kea else artifact for artifact in made]
        return FIRST_CONTACT.run(tree_of(plan.name, artifacts, Declaration(plan)))

    assert verdict(text).is_proven
    first, second = addresses["bmc"], addresses["come0"]
    exchanged = text.replace(f'"{first}"', '"?"').replace(f'"{second}"', f'"{first}"').replace('"?"', f'"{second}"')
    told = [str(fault) for fault in verdict(exchanged).counterexamples]
    assert any(f"gets {second} as nvl-s00r00n0, which is not planned" in fault for fault in told), told


def heard(plan: Plan, names: Mapping[str, str]) -> dict[str, tuple[Neighbour, ...]]:
    """What the management switch hears at each port where a BMC of ``names`` (by its planned name) is."""
    said = []
    for cable in plan.cables:
        if cable.b.device == "mgmt-00":
            name = f"{cable.a.device}-{cable.a.port}"
            host = cable.a.device if plan.by_name[cable.a.device].kind == "switch" else names.get(name, name)
            port = cable.a.port if plan.by_name[cable.a.device].kind == "switch" else "eth0"
            said.append(Neighbour(port=cable.b.port, neighbour=host, neighbour_port=port))
    return {"mgmt-00": tuple(said)}


def test_two_exchanged_bmcs_of_a_node_are_found(plan: Plan) -> None:
    assert compare_neighbours(plan, heard(plan, {})) == ()
    swapped = {"svc-v00n0-bmc": "svc-v00n0-dpu-bmc", "svc-v00n0-dpu-bmc": "svc-v00n0-bmc"}
    comparison = compare_neighbours(plan, heard(plan, swapped))
    assert {each.kind for each in comparison} == {DifferenceKind.SWAPPED}
    assert {each.place.device for each in comparison} <= {"svc-v00n0", "mgmt-00"}


def test_a_silent_kind_of_port_is_told_by_its_name(plan: Plan) -> None:
    said = {name: tuple(each for each in own if "come" not in each.neighbour) for name, own in heard(plan, {}).items()}
    notes = not_judged(plan, said)
    assert [note.partition(" were ")[0] for note in notes] == [
        "cables of ports come0 of nvl72-switch-tray",
        "cables of ports come1 of nvl72-switch-tray",
    ]
    assert compare_neighbours(plan, said) == ()


def test_they_keep_their_places_while_the_others_grow(tmp_path: Path) -> None:
    figures_of_lab = "  - {figure: gpus, remove: true}\n  - {figure: switches.leaf, remove: true}\n"
    file = spec_file(tmp_path, "expect:\n" + figures_of_lab)
    whole = file.read_text()
    half = "  - {name: compute, count: 8, levels: [{name: rack, of: 4, within: su}, {name: su, of: 2}]}\n"
    file.write_text(whole.replace("nodes:\n", "nodes:\n" + half, 1))
    assert run("allocate", file)[0] == 0
    before = build_plan(load_spec(file))
    file.write_text(whole.replace("nodes:\n", "nodes:\n" + half.replace("8", "12"), 1))
    after = build_plan(load_spec(file))
    trays = devices_of(before, "switch-tray")
    assert (len(trays), len(devices_of(after, "switch-tray"))) == (2, 3)
    for device in trays:
        assert after.by_name[device.name].unit == device.unit
        assert after.by_name[device.name].index == device.index
        assert addresses_of(after, device.name) == addresses_of(before, device.name)


@pytest.mark.parametrize(
    ("old", "new", "code", "path"),
    [
        ("nodes: compute, level: rack, count: 1", "nodes: comptue, level: rack, count: 1", "CW150", "inside.nodes"),
        ("nodes: compute, level: rack, count: 1", "nodes: compute, level: rak, count: 2", "CW155", "inside.level"),
        ("nodes: compute, level: rack, count: 1", "nodes: shelves, level: rack, count: 1", "CW236", "inside.nodes"),
        ("role: switch-tray,", "role: switch-tray, count: 3,", "CW236", "count"),
        ("role: switch-tray, ", "", "CW235", "role"),
        ("role: switch-tray,", "role: switch-tray, image: training,", "CW235", "image"),
        ("role: switch-tray,", "role: switch-tray, zone: compute,", "CW235", "zone"),
        ("level: rack, count: 1", "level: rack, count: 12", "CW701", None),
    ],
)
def test_what_cannot_be_is_refused_on_its_line(tmp_path: Path, old: str, new: str, code: str, path: str | None) -> None:
    file = spec_file(tmp_path)
    file.write_text(file.read_text().replace(old, new, 1))
    status, output = run("lint", file, "--format", "json")
    findings: list[dict[str, Any]] = json.loads(output)["findings"]
    assert status == 1
    assert (code, path) in {(finding["code"], finding["path"].partition("[trays].")[2] or None) for finding in findings}


@pytest.mark.parametrize(
    "section",
    [
        "scheduler: {nodes: [compute, trays]}\n",
        "zones:\n  - {name: compute, nodes: [compute, trays]}\n",
        "boot: {servers: trays}\n",
        "fabrics:\n  - {name: frontend, attach: [{nodes: trays, nics: frontend}]}\n",
    ],
)
def test_no_section_takes_a_device_for_a_machine(tmp_path: Path, section: str) -> None:
    status, output = run("lint", spec_file(tmp_path, section))
    assert status == 1
    assert "error CW235: trays (nvl72-switch-tray) are devices" in output


def test_places_that_the_others_leave_out_have_none(tmp_path: Path) -> None:
    file = spec_file(tmp_path)
    compute = "  - {name: compute, count: 12, left_out: [s00r01]}\n"
    file.write_text(file.read_text().replace("nodes:\n", "nodes:\n" + compute, 1))
    plan = build_plan(load_spec(file))
    racks = {device.rack for device in devices_of(plan, "node")}
    assert "s00r01" not in racks
    assert {device.rack for device in devices_of(plan, "switch-tray")} == racks
    assert figures(plan.spec, build_skeleton(plan.spec))["devices.switch-tray"] == len(racks)


def test_an_image_of_a_rack_is_none_of_what_stands_inside(tmp_path: Path) -> None:
    more = "exceptions:\n  - {group: s00r00, image: training, reason: a rack tries another image}\n"
    plan = build_plan(load_spec(spec_file(tmp_path, more)))
    assert {device.image for device in plan.devices if device.rack == "s00r00" and device.kind == "device"} == {None}


# NVIDIA's guide of the DGX GB200: 18 compute trays, 9 switch trays, power shelves and 2 top-of-rack switches for
# management in a rack. Its 53 ports out of band do not fit into one switch of 48.
MANAGED = """extends: {base}
nodes: [{{name: compute, count: 72}}]
expect:
  - {{figure: gpus, value: 288}}
  - {{figure: groups.rack.compute, value: 4}}
  - {{figure: devices.switch-tray, value: 36}}
  - {{figure: devices.power-shelf, value: 32}}
fabrics:
  - name: management
    technology: ethernet
    mtu: 1500
    attach: [{{management: true}}]
    tiers:
      - {{role: mgmt, model: sn2201, per: rack, count: {tops}, down: {{medium: copper}},
         up: {{links: 2, speed_gbps: 100}}, asn: {{base: 4200300000, per: switch}}}}
      - {{role: oob, model: dcs-7050sx3-48yc8, per: cluster, count: 2, asn: {{base: 4200000300, per: tier}}}}
    addressing: {{loopbacks: "10.97.255.0/25", links: "10.97.248.0/22", hosts: "10.97.0.0/18", hosts_per_switch: 25,
                  host_links: shared}}
"""


def test_half_a_unit_of_nvl72_racks_is_managed_by_two_switches_a_rack(tmp_path: Path) -> None:
    file = tmp_path / "unit.yaml"
    text = MANAGED.format(base=folder("inventory") / "published/gb200-1su.yaml", tops=2)
    file.write_text(text)
    status, output = run("lint", file)
    assert status == 0, output
    plan = build_plan(load_spec(file))
    rack = [device for device in plan.devices if device.rack == "s00r00"]
    counted = Counter(device.role for device in rack)
    assert (counted["node"], counted["switch-tray"], counted["power-shelf"], counted["mgmt"]) == (18, 9, 8, 2)
    loads = Counter(cable.b.device for cable in plan.cables if cable.fabric == "management" and cable.tier == 0)
    assert set(loads.values()) == {26, 27}
    file.write_text(text.replace("count: 2,", "count: 1,"))
    status, output = run("lint", file)
    assert status == 1
    assert "mgmt-s00r00 needs 53 ports of 1G for the links from below" in output
