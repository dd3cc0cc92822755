"""What devices of a right plan announce, by each system's documentation, is no difference; what is crossed, is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.observe.lldp_dumps import announcements, dumps, lldpcli

from clusterwright.cli.main import cli
from clusterwright.data_files import folder
from clusterwright.observe.difference import DifferenceKind, ObservedDifference
from clusterwright.observe.lldp import Neighbour, parse_neighbours
from clusterwright.observe.lldp_compare import compare_neighbours, not_judged
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

LABS = ("lab-roce", "lab-sonic", "lab-nvue", "lab-ib", "lab-tenants")
NODE = "gpu-p00r00n0"


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {name: build_plan(load_spec(folder("inventory") / f"{name}.yaml")) for name in LABS}


def heard_in(texts: dict[str, str]) -> dict[str, tuple[Neighbour, ...]]:
    return {device: parse_neighbours(text, f"{device}.json") for device, text in texts.items()}


def compared(plan: Plan, texts: dict[str, str]) -> tuple[ObservedDifference, ...]:
    return compare_neighbours(plan, heard_in(texts))


@pytest.mark.parametrize("bmc", ["silent", "named", "node", "own"])
@pytest.mark.parametrize("lab", LABS)
def test_a_right_plan_has_no_differences(plans: dict[str, Plan], lab: str, bmc: str) -> None:
    for turn in (0, 1, 2):
        texts = dumps(plans[lab], bmc=bmc, turn=turn)
        assert compared(plans[lab], texts) == ()
        nodes = {name: text for name, text in texts.items() if plans[lab].by_name[name].kind == "node"}
        assert compared(plans[lab], nodes) == ()


def test_silent_management_controllers_are_told_as_not_judged(plans: dict[str, Plan]) -> None:
    plan = plans["lab-roce"]
    (note, *_) = not_judged(plan, heard_in(dumps(plan)))
    assert "cables of management ports of grand-teton-h100 were not checked" in note
    assert not not_judged(plan, heard_in(dumps(plan, bmc="node")))


def test_one_silent_controller_among_those_that_speak_is_a_missing_cable(plans: dict[str, Plan]) -> None:
    plan = plans["lab-roce"]
    texts = dumps(plan, bmc="node")
    dump = json.loads(texts["mgmt-00"])
    port = next(
        port for port, each in dump["lldpNeighbors"].items() if each["lldpNeighborInfo"][0]["systemName"] == NODE
    )
    del dump["lldpNeighbors"][port]
    (found,) = compared(plan, texts | {"mgmt-00": json.dumps(dump)})
    assert (found.kind, found.place.port) == (DifferenceKind.MISSING_LINK, port)


@pytest.mark.parametrize("lab", LABS)
def test_crossed_cables_of_a_switch_are_found(plans: dict[str, Plan], lab: str) -> None:
    plan = plans[lab]
    for device in plan.devices:
        if device.kind != "switch":
            continue
        said = announcements(plan, bmc="named").get(device.name, [])
        towards_switches = [one for one in said if plan.by_name[one.name.partition(".")[0]].kind == "switch"]
        if len(towards_switches) < 2:
            continue
        first, second = towards_switches[0], towards_switches[-1]
        crossed = [replace(second, port=first.port), replace(first, port=second.port)]
        others = [one for one in said if one not in {first, second}]
        found = compared(plan, {device.name: lldpcli([*crossed, *others])})
        assert {each.kind for each in found} == {DifferenceKind.SWAPPED}, device.name


def test_adapter_firmware_and_both_hosts_beside_the_planned_neighbour_say_nothing(plans: dict[str, Plan]) -> None:
    plan = plans["lab-roce"]
    firmware = Neighbour("", "", "", "")
    heard = heard_in(dumps(plan))
    for device, said in heard.items():
        heard[device] = tuple(each for one in said for each in (replace(firmware, port=one.port), one))
    assert compare_neighbours(plan, heard) == ()
    uplinks = [one for one in heard[NODE] if one.port in {"fe0", "fe1"} and one.neighbour]
    exchanged = [replace(one, port={"fe0": "fe1", "fe1": "fe0"}[one.port]) for one in uplinks]
    assert compare_neighbours(plan, {NODE: [*exchanged, *heard[NODE]]}) == ()


def test_firmware_alone_is_told_and_no_difference(plans: dict[str, Plan]) -> None:
    plan = plans["lab-roce"]
    heard = heard_in(dumps(plan))["rsw-p00r00"]
    alone = [replace(one, neighbour="", neighbour_port="") if one.neighbour == NODE else one for one in heard]
    assert compare_neighbours(plan, {"rsw-p00r00": alone}) == ()
    assert "hear a device without a name" in not_judged(plan, {"rsw-p00r00": alone})[0]


def test_a_dump_that_does_not_read_ends_no_other(tmp_path: Path, plans: dict[str, Plan]) -> None:
    texts = dumps(plans["lab-roce"])
    crossed = texts["ctsw-p00-00"].replace("rtsw-p00r00.", "rtsw-p00r01.", 1)
    for name, text in {"ctsw-p00-00": crossed, "ctsw-p00-01": "Port  Neighbor"}.items():
        (tmp_path / f"{name}.json").write_text(text)
    spec = folder("inventory") / "lab-roce.yaml"
    done = CliRunner().invoke(cli, ["observe", str(spec), "--lldp", str(tmp_path)], standalone_mode=False)
    assert "ctsw-p00-00" in done.output
    assert "ctsw-p00-01.json: is not JSON" in str(done.exception)


@pytest.mark.parametrize(
    "text",
    [
        '{"lldp":{"interface":[{"Ethernet3/1/1":{"chassis":{},"port":{"id":{"type":"mac","value":"02:00:00:00:00:01"}}}}]}}',
        '{"lldpNeighbors":[{"port":"Ethernet3/1/1","neighborDevice":null,"neighborPort":"x","ttl":1}]}',
        '{"lldpNeighbors":[{"port":"Ethernet3/1/1","neighborDevice":"evil\\u001b]0;PWN\\u0007","neighborPort":"x"}]}',
        '{"lldpNeighbors":{"Ethernet3/1/1":{"lldpNeighborInfo":[{"chassisId":"0200.0000.0001"}]}}}',
        '{"lldp": {}}',
        '{"lldp": [{}]}',
        '{"swp1": {"lldp": {"neighbor": {"x": {}}}}}',
    ],
)
def test_neighbours_that_say_little_or_too_much_are_read(text: str) -> None:
    assert all("\x1b" not in f"{each.neighbour}{each.neighbour_port}" for each in parse_neighbours(text, "file"))
