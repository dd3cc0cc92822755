"""How far the crew is: every planned cable is in exactly one state, and each rack and pull says how many."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

from click.testing import CliRunner
from tests.observe.netfile import NetFile, hdr_lab, hdr_plan

from clusterwright.cli.main import cli
from clusterwright.data_files import folder
from clusterwright.observe.compare import scanned_states
from clusterwright.observe.ibnetdiscover import parse
from clusterwright.observe.lldp import Neighbour
from clusterwright.observe.lldp_compare import heard_states
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

SPEC = folder("inventory") / "lab-roce.yaml"
SWITCH = "ctsw-p00-00"
COUNTS = ("cables", "seen", "missing", "wrong", "unknown")


def planned(plan: Plan, device: str) -> list[Neighbour]:
    ends = ((cable.a, cable.b) if cable.a.device == device else (cable.b, cable.a) for cable in plan.cables_of[device])
    return [Neighbour(here.port, there.device, there.port) for here, there in ends]


def test_what_nobody_was_asked_about_is_unknown_and_a_crossed_cable_wrong() -> None:
    plan = build_plan(load_spec(SPEC))
    one, two, three, four, *rest = planned(plan, SWITCH)
    crossed = [
        Neighbour(one.port, two.neighbour, two.neighbour_port), Neighbour(two.port, one.neighbour, one.neighbour_port),
        Neighbour(three.port, "somebodys-laptop", "en0"),
    ]  # fmt: skip
    states = heard_states(plan, {SWITCH: [*crossed, *rest]})
    assert Counter(states.values()) == {
        "wrong": 3, "missing": 1, "seen": len(rest), "unknown": len(plan.cables) - 4 - len(rest),
    }  # fmt: skip
    assert states[four.neighbour, four.neighbour_port] == "missing"


def test_a_port_that_two_hear_is_nobodys_progress() -> None:
    plan = build_plan(load_spec(SPEC))
    heard = {name: planned(plan, name) for name in (SWITCH, "ctsw-p00-01")}
    twin, (one, *rest) = heard[SWITCH][0], heard["ctsw-p00-01"]
    heard["ctsw-p00-01"] = [Neighbour(one.port, twin.neighbour, twin.neighbour_port), *rest]
    states = heard_states(plan, heard)
    assert states[twin.neighbour, twin.neighbour_port] == "unknown"
    assert states[one.neighbour, one.neighbour_port] != "seen"


def test_the_table_counts_each_cable_once_in_its_pull_and_in_each_of_its_racks(tmp_path: Path) -> None:
    plan = build_plan(load_spec(SPEC))
    for device in (SWITCH, "ctsw-p00-01"):
        said = planned(plan, device)[1:] if device == SWITCH else planned(plan, device)
        entries = [
            {"port": each.port, "neighborDevice": each.neighbour, "neighborPort": each.neighbour_port} for each in said
        ]
        (tmp_path / f"{device}.json").write_text(json.dumps({"lldpNeighbors": entries}))
    arguments = ["observe", str(SPEC), "--lldp", str(tmp_path), "--format", "progress"]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 1
    rows = list(csv.DictReader(io.StringIO(done.output)))
    for row in rows:
        assert int(row["cables"]) == sum(int(row[word]) for word in COUNTS[1:])
    pulls = Counter({word: sum(int(row[word]) for row in rows if row["of"] == "pull") for word in COUNTS})
    assert (pulls["cables"], pulls["missing"]) == (len(plan.cables), 1)
    racks = Counter(
        rack for cable in plan.cables for rack in {plan.by_name[end.device].rack for end in (cable.a, cable.b)}
    )
    assert {row["from_rack"]: int(row["cables"]) for row in rows if row["of"] == "rack"} == racks


def test_a_scan_of_infiniband_says_it_too(tmp_path: Path) -> None:
    plan = hdr_plan(tmp_path)
    net = NetFile.of(plan)
    every = sum(cable.fabric == "backend" for cable in plan.cables)
    assert Counter(scanned_states(plan, "backend", [parse(net.text(""), "scan")]).values()) == {"seen": every}
    cables = [cable for cable in plan.cables if cable.fabric == "backend" and cable.a.guid is not None]
    net.cut(net.end(cables[0].b.device, cables[0].b.port))
    net.swap(net.end(cables[1].b.device, cables[1].b.port), net.end(cables[9].b.device, cables[9].b.port))
    states = scanned_states(plan, "backend", [parse(net.text(""), "scan")])
    assert Counter(states.values()) == {"seen": every - 3, "missing": 1, "wrong": 2}
    (tmp_path / "scan.txt").write_text(net.text(""))
    arguments = ["observe", str(hdr_lab(tmp_path)), "--ibnetdiscover", str(tmp_path / "scan.txt")]
    done = CliRunner().invoke(cli, [*arguments, "--format", "progress"], standalone_mode=False)
    assert done.return_value == 1
    assert sum(int(row["wrong"]) for row in csv.DictReader(io.StringIO(done.output)) if row["of"] == "pull") == 2
