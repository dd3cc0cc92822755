"""Cables as LLDP hears them, in the dumps of EOS and of lldpd, against the plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clusterwright.cli.main import cli
from clusterwright.data_files import folder
from clusterwright.finding import ClusterwrightError
from clusterwright.observe.difference import DifferenceKind
from clusterwright.observe.lldp import Neighbour, parse_neighbours
from clusterwright.observe.lldp_compare import compare_neighbours
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

SPEC = folder("inventory") / "lab-roce.yaml"
SWITCH = "ctsw-p00-00"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(load_spec(SPEC))


def planned(plan: Plan, device: str) -> list[Neighbour]:
    """What a device hears when every cable is where it was planned."""
    found = []
    for cable in plan.cables_of[device]:
        here, there = (cable.a, cable.b) if cable.a.device == device else (cable.b, cable.a)
        found.append(Neighbour(here.port, there.device, there.port))
    return found


def eos(neighbours: Sequence[Neighbour]) -> str:
    """`show lldp neighbors | json`."""
    entries = [
        {
            "port": one.port,
            "neighborDevice": f"{one.neighbour}.lab.example.net",
            "neighborPort": one.neighbour_port,
            "ttl": 120,
        }
        for one in neighbours
    ]
    return json.dumps({"tablesLastChangeTime": 1.0, "lldpNeighbors": entries})


def lldpcli(neighbours: Sequence[Neighbour], *, mac: bool = False) -> str:
    """`lldpcli -f json show neighbors`; with ``mac`` as devices are that name their ports in the description alone."""

    def interface(one: Neighbour) -> dict[str, Any]:
        identity = (
            {"type": "mac", "value": "52:54:00:12:34:56"} if mac else {"type": "ifname", "value": one.neighbour_port}
        )
        chassis = {one.neighbour: {"id": {"type": "mac", "value": "52:54:00:00:00:01"}, "descr": "FBOSS"}}
        return {one.port: {"via": "LLDP", "chassis": chassis, "port": {"id": identity, "descr": one.neighbour_port}}}

    found = [interface(one) for one in neighbours]
    return json.dumps({"lldp": {"interface": found[0] if len(found) == 1 else found}})


@pytest.mark.parametrize(
    "dump", [eos, lldpcli, lambda said: lldpcli(said, mac=True)], ids=["EOS", "lldpcli", "ports by MAC"]
)
def test_a_device_that_hears_what_was_planned_has_no_differences(plan: Plan, dump: Any) -> None:
    heard = parse_neighbours(dump(planned(plan, SWITCH)), "file")
    domain = plan.spec.site.domain
    assert [one.neighbour.removesuffix(f".{domain}") for one in heard] == [
        one.neighbour for one in planned(plan, SWITCH)
    ]

    assert compare_neighbours(plan, {SWITCH: heard}) == ()


def test_everybody_heard_and_nobody_contradicts(plan: Plan) -> None:
    assert compare_neighbours(plan, {device.name: planned(plan, device.name) for device in plan.devices}) == ()


def test_exchanged_cables_are_one_move_each(plan: Plan) -> None:
    one, two, *rest = planned(plan, SWITCH)
    crossed = [
        Neighbour(one.port, two.neighbour, two.neighbour_port),
        Neighbour(two.port, one.neighbour, one.neighbour_port),
    ]

    comparison = compare_neighbours(plan, {SWITCH: [*crossed, *rest]})

    assert [item.kind for item in comparison] == [DifferenceKind.SWAPPED, DifferenceKind.SWAPPED]
    assert all("exchanged with" in item.message for item in comparison)


def test_silence_is_a_missing_link_and_a_stranger_is_named(plan: Plan) -> None:
    one, *rest = planned(plan, SWITCH)
    comparison = compare_neighbours(plan, {SWITCH: rest})
    assert [item.kind for item in comparison] == [DifferenceKind.MISSING_LINK]
    assert one.neighbour in comparison[0].message

    comparison = compare_neighbours(plan, {SWITCH: [Neighbour(one.port, "somebodys-laptop", "en0"), *rest]})
    assert DifferenceKind.UNEXPECTED_DEVICE in [item.kind for item in comparison]
    assert any("somebodys-laptop en0 is cabled to" in item.message for item in comparison)


def test_a_port_that_two_others_hear_is_ambiguous_and_moves_nothing(plan: Plan) -> None:
    """Two devices with one name, or a bridge between: the first that was read is no better than the second."""
    for devices in ([SWITCH, "ctsw-p00-01"], ["ctsw-p00-01", SWITCH]):
        heard = {name: planned(plan, name) for name in devices}
        one, *rest = heard["ctsw-p00-01"]
        twin = heard[SWITCH][0]
        heard["ctsw-p00-01"] = [Neighbour(one.port, twin.neighbour, twin.neighbour_port), *rest]
        (found,) = compare_neighbours(plan, heard)
        assert found.kind == DifferenceKind.AMBIGUOUS
        assert f"{twin.neighbour} {twin.neighbour_port} is heard at {SWITCH} {twin.port}, ctsw-p00-01" in found.message


def test_a_cable_at_another_port_is_moved_and_one_too_many_is_taken_out(plan: Plan) -> None:
    one, *rest = planned(plan, SWITCH)
    free = "Ethernet9/36/1"
    comparison = compare_neighbours(plan, {SWITCH: [Neighbour(free, one.neighbour, one.neighbour_port), *rest]})
    assert [item.kind for item in comparison] == [DifferenceKind.WRONG_PORT]
    assert f"from {SWITCH} {free} to {SWITCH} {one.port}" in comparison[0].message

    comparison = compare_neighbours(plan, {SWITCH: [one, *rest, Neighbour(free, "atsw-00", "Ethernet9/35/1")]})
    assert [item.kind for item in comparison] == [DifferenceKind.UNEXPECTED_LINK]


def test_the_command_reads_a_folder_and_says_which_cable_to_move(plan: Plan, tmp_path: Path) -> None:
    for device in (SWITCH, "ctsw-p00-01"):
        (tmp_path / f"{device}.json").write_text(eos(planned(plan, device)))
    arguments = ["observe", str(SPEC), "--lldp", str(tmp_path)]
    assert CliRunner().invoke(cli, arguments, standalone_mode=False).output == "no differences\n"

    (tmp_path / f"{SWITCH}.json").write_text(eos(planned(plan, SWITCH)[1:]))
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 1
    assert "cable missing, loose or dead" in done.output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Port Neighbor\n", "is not JSON"),
        ("{}", "has neither"),
        ('{"lldpNeighbors": [{"port": "Ethernet1"}]}', "lacks what every neighbour has"),
    ],
)
def test_a_dump_that_cannot_be_read_is_named(text: str, told: str) -> None:
    with pytest.raises(ClusterwrightError, match=f"dump.json: .*{told}|dump.json: {told}"):
        parse_neighbours(text, "dump.json")


def test_a_dump_of_nobody_is_refused(plan: Plan) -> None:
    with pytest.raises(ClusterwrightError, match="no device of lab-roce is called nobody"):
        compare_neighbours(plan, {"nobody": []})
