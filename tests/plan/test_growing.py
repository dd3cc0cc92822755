"""Clusters that grow: nothing that stands moves, and what would have moved without the allocation file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.plan.grown import DAY, INVENTORY, NOTHING, Data, allocate, data_of, grow, item, moved, write

from clusterwright.plan.allocation.disagreement import Comparison
from clusterwright.plan.allocation.imported import pin
from clusterwright.plan.allocation.record import record
from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.allocation.writing import allocation_text
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures as figures_of
from clusterwright.plan.model import Cable, Plan
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.rollout.preview.capacity import kept_after
from clusterwright.rules.engine import lint_path
from clusterwright.spec.allocated.facts import NOTHING_STANDS
from clusterwright.spec.allocated.point_to_point import read_cables
from clusterwright.spec.load import allocation_file, load_spec


def set_count(data: Data, group: str, count: int) -> None:
    item(data["nodes"], group)["count"] = count


def figures(cables: int, addresses: int, numbers: int, names: int = 0) -> dict[str, int]:
    return {"cables": cables, "addresses": addresses, "numbers": numbers, "names": names}


def small_rsc(nodes: int) -> Data:
    """RSC's pods, storage and services with fewer nodes."""
    data = data_of("rsc-phase1")
    set_count(data, "compute", nodes)
    data.pop("expect")
    return data


def first_group_last(data: Data) -> None:
    data["nodes"].append(data["nodes"].pop(0))


def another_group_before(data: Data) -> None:
    first = {**item(data["nodes"], "storage"), "name": "early", "prefix": "ea", "count": 3}
    data["nodes"].insert(0, first)
    for fabric in data["fabrics"]:
        own = [{**each, "nodes": "early"} for each in fabric["attach"] if each.get("nodes") == "storage"]
        fabric["attach"][:0] = own


def a_rack_less(data: Data) -> None:
    compute = item(data["nodes"], "compute")
    compute |= {"count": compute["count"] - 2, "left_out": ["p00r01"]}


def another_model(data: Data) -> None:
    item(data["nodes"], "storage")["model"] = "hammerspace-dsx"


@pytest.mark.parametrize(
    ("name", "change", "unaided"),
    [
        pytest.param("lab-roce", lambda data: set_count(data, "compute", 12), figures(25, 47, 12), id="more nodes"),
        pytest.param("lab-roce", lambda data: set_count(data, "storage", 4), figures(21, 24, 4), id="two servers more"),
        pytest.param("lab-roce", another_group_before, figures(43, 67, 16, 2), id="a group before"),
        pytest.param("lab-roce", first_group_last, None, id="another order"),
        pytest.param("lab-roce", a_rack_less, None, id="a rack left out"),
        pytest.param("lab-roce", lambda data: set_count(data, "compute", 6), None, id="fewer nodes"),
        pytest.param("lab-ib", lambda data: set_count(data, "compute", 14), None, id="more nodes on InfiniBand"),
        pytest.param("lab-tenants", lambda data: set_count(data, "services", 5), None, id="more with bonds"),
        pytest.param("lab-nvue", lambda data: set_count(data, "compute", 10), None, id="half a unit more"),
    ],
)
def test_nothing_that_stands_moves(
    name: str, change: Callable[[Data], None], unaided: dict[str, int] | None, tmp_path: Path
) -> None:
    grown = grow(tmp_path, data_of(name), change)
    assert grown.moved() == NOTHING
    assert unaided is None or grown.moved_unaided() == unaided


def test_another_model_keeps_its_ports_and_addresses(tmp_path: Path) -> None:
    grown = grow(tmp_path, data_of("lab-roce"), another_model)
    assert {each.field for each in grown.changes.devices.changed} == {"model", "unit"}  # it is a unit higher
    assert grown.moved() == NOTHING | {"numbers": 1}


def test_another_system_on_the_same_switch_moves_nothing(tmp_path: Path) -> None:
    """Its ports are called otherwise: a cable stays in its cage."""

    def other(data: Data) -> None:
        item(item(data["fabrics"], "frontend")["tiers"], "rsw")["model"] = "sn4700-sonic"

    grown = grow(tmp_path, data_of("lab-nvue"), other)
    assert {(c.b.port[:3], d.b.port[:8]) for c, d in _rack_ends(grown.before, grown.after)} == {("swp", "Ethernet")}
    assert grown.moved() == NOTHING
    findings = [finding for finding in lint_path(tmp_path / "cluster.yaml").findings if finding.code == "CW265"]
    assert findings
    assert all("of its ports are called otherwise, swp1" in finding.message for finding in findings)


def _rack_ends(before: Plan, after: Plan) -> list[tuple[Cable, Cable]]:
    new = {(c.fabric, c.a.device, c.a.port): c for c in after.cables}
    return [(c, new[c.fabric, c.a.device, c.a.port]) for c in before.cables if c.b.device.startswith("rsw-")]


def test_a_switch_with_other_ports_keeps_their_order(tmp_path: Path) -> None:
    def other(data: Data) -> None:
        item(item(data["fabrics"], "management")["tiers"], "mgmt")["model"] = "as9736-1g"

    hardware = tmp_path / "own.yaml"
    text = (INVENTORY / "hardware" / "arista.yaml").read_text()
    start = text.index("  - name: dcs-7010tx-48")
    own = (
        text[start : text.index("\n  - name:", start + 5)]
        .replace("dcs-7010tx-48", "as9736-1g")
        .replace("DCS-7010TX-48", "AS9736")
        .replace("Ethernet[", "port[")
    )
    hardware.write_text(f"version: 1\nkind: hardware\nmodels:\n{own}\n")
    grown = grow(tmp_path, data_of("lab-roce") | {"hardware": ["own.yaml"]}, other)
    pairs = {
        (old.a.device, old.b.port.removeprefix("Ethernet"), old.a.address): (new.b.port, new.a.address)
        for old in grown.before.cables
        for new in grown.after.cables
        if old.fabric == "management" and (new.fabric, new.a.device) == (old.fabric, old.a.device)
    }
    assert all(now == (f"port{number}", address) for (_, number, address), now in pairs.items())
    assert len(pairs) == 29
    (finding,) = [finding for finding in lint_path(tmp_path / "cluster.yaml").findings if finding.code == "CW265"]
    assert "29 of its cables go to other ports" in finding.message


def test_a_node_with_other_ports_keeps_its_far_ends_and_addresses(tmp_path: Path) -> None:
    def other(data: Data) -> None:
        item(data["nodes"], "storage")["model"] = "other-server"

    text = (INVENTORY / "hardware" / "storage.yaml").read_text()
    start = text.index("  - name: yv3-sierra-point")
    own = text[start : text.find("\n  - name:", start + 5)].replace("yv3-sierra-point", "other-server")
    own = own.replace("fe0", "eth7").replace("bmc", "ipmi")
    (tmp_path / "own.yaml").write_text(f"version: 1\nkind: hardware\nmodels:\n{own}\n")
    grown = grow(tmp_path, data_of("lab-roce") | {"hardware": ["own.yaml"]}, other)

    def far(plan: Plan) -> list[tuple[object, ...]]:
        own = [cable for cable in plan.cables if cable.a.device.startswith("st-")]
        return [(each.a.device, each.b.device, each.b.port, each.a.address) for each in own]

    assert len(far(grown.before)) == 4
    assert far(grown.after) == far(grown.before)
    assert {cable.a.port for cable in grown.after.cables if cable.a.device.startswith("st-")} == {"eth7", "ipmi"}


def test_48_nodes_become_64_and_nothing_moves(tmp_path: Path) -> None:
    grown = grow(tmp_path, small_rsc(48), lambda data: set_count(data, "compute", 64))
    assert grown.moved_unaided() == figures(162, 66, 14)
    assert grown.moved() == NOTHING


def test_rsc_phase_two_stands_on_phase_one() -> None:
    before, after = (build_plan(load_spec(INVENTORY / f"{name}.yaml")) for name in ("rsc-phase1", "rsc"))
    assert moved(before, build_plan(replace(after.spec, allocated=NOTHING_STANDS))) == figures(0, 64, 14)
    assert moved(before, after) == NOTHING


@pytest.mark.parametrize(("tier", "fabric", "count", "taken"), [("ssw", "frontend", 3, 4), ("ctsw", "backend", 4, 32)])
def test_a_tier_that_gains_switches_gives_them_their_links_and_no_others(
    tier: str, fabric: str, count: int, taken: int, tmp_path: Path
) -> None:
    def more(data: Data) -> None:
        item(item(data["fabrics"], fabric)["tiers"], tier)["count"] = count

    grown = grow(tmp_path, data_of("lab-roce"), more)
    (changes,) = [cable for cable in grown.changes.cables if cable.fabric == fabric]
    new = {device.name for device in grown.changes.devices.added}
    assert {move.after.b.device for move in changes.moved} <= new
    assert {move.ends for move in changes.moved} == {"upper"}
    assert grown.moved() == NOTHING | {"cables": taken}
    shares = Counter(cable.b.device for cable in grown.after.cables if cable.a.side == "up" and cable.fabric == fabric)
    own = [shares[device.name] for device in grown.after.devices if device.role == tier]
    assert max(own) - min(own) <= 1
    # Written down, the same plan comes of it, and nothing is taken a second time.
    path = tmp_path / "cluster.yaml"
    assert allocate(path).cables == grown.after.cables
    assert build_plan(load_spec(path)).cables == grown.after.cables


def test_figures_count_the_racks_and_pods_that_are_there(tmp_path: Path) -> None:
    data = data_of("lab-roce")
    item(data["nodes"], "compute").update(count=7, left_out=["gpu-p00r00n1", "gpu-p00r01n0", "p01r00"])
    spec = load_spec(write(data, tmp_path / "cluster.yaml"))
    found, plan = figures_of(spec, build_skeleton(spec)), build_plan(spec)
    for level in ("rack", "pod"):
        own = sum(group.level == level and group.node_group == "compute" for group in plan.groups)
        assert found[f"groups.{level}.compute"] == own
    assert found["groups.rack.compute"] == 5


def test_a_new_rack_takes_no_name_of_a_rack_that_switches_stand_in(tmp_path: Path) -> None:
    """Racks for switches of the whole cluster are called by a letter that a level of the spec may have too."""
    data = data_of("lab-roce")
    item(data["nodes"], "storage")["levels"][0]["code"] = "x"

    def more(data: Data) -> None:
        item(data["nodes"], "storage")["count"] += 4

    found = grow(tmp_path, data, more)
    switches = {device.rack for device in found.before.devices if device.kind == "switch" and device.group == ""}
    nodes = {device.rack for device in found.after.devices if device.node_group == "storage"}
    assert len(nodes) == 3
    assert {rack[0] for rack in switches | nodes} == {"x"}
    assert switches.isdisjoint(nodes)
    assert found.moved() == NOTHING


def test_the_last_rack_that_stands_may_be_left_out(tmp_path: Path) -> None:
    def last(data: Data) -> None:
        item(data["nodes"], "compute").update(count=6, left_out=["p01r01"])

    grow(tmp_path, data_of("lab-roce"), last)
    for name, told in (("cluster", []), ("unaided", ['"p01r01" is not a group or node of compute.'])):
        findings = lint_path(tmp_path / f"{name}.yaml").findings
        assert [finding.message for finding in findings if finding.code == "CW267"] == told


def test_what_is_given_up_rests_until_its_quarantine_ends(tmp_path: Path) -> None:
    def other_servers(data: Data) -> None:
        set_count(data, "storage", 2)
        item(data["nodes"], "storage")["left_out"] = ["st-s00n1"]

    data = data_of("lab-roce") | {"allocation": {"quarantine_days": 30}}
    path = write(data, tmp_path / "cluster.yaml")
    before = allocate(path)
    gone = {(c.b.device, c.b.port) for c in before.cables_of["st-s00n1"]}
    lost = {c.a.address for c in before.cables_of["st-s00n1"]}
    other_servers(data)
    write(data, path)

    def reused(plan: Plan) -> bool:
        cables = plan.cables_of["st-s01n0"]
        return bool(gone & {(c.b.device, c.b.port) for c in cables} or lost & {c.a.address for c in cables})

    assert not reused(build_plan(load_spec(path)))
    for day, rests in ((date(2026, 1, 5), True), (date(2026, 2, 3), True), (date(2026, 2, 4), False)):
        allocate(path, day)
        assert ("\nfreed:\n" in allocation_file(path).read_text()) == rests
    set_count(data, "storage", 3)
    write(data, path)
    later = build_plan(load_spec(path))
    assert not reused(later)
    assert gone & {(c.b.device, c.b.port) for c in later.cables}


def manifest_names(path: Path) -> dict[str, str]:
    """What a deployment knows devices by that were renamed."""
    spec = load_spec(path)
    return dict(Standing(spec, spec.allocated).former)


def test_a_group_under_a_new_name_stands_where_it_stood(tmp_path: Path) -> None:
    def rename(data: Data) -> None:
        text = json.dumps(data)
        item(data["nodes"], "storage").update(name="disks", prefix="dk")
        for fabric in data["fabrics"]:
            for attach in fabric["attach"]:
                if attach.get("nodes") == "storage":
                    attach["nodes"] = "disks"
        assert json.dumps(data) != text
        item(item(data["fabrics"], "backend")["tiers"], "rtsw")["role"] = "torsw"
        data["renamed"] = [{"nodes": "disks", "was": "storage"}, {"fabric": "backend", "tier": "torsw", "was": "rtsw"}]

    grown = grow(tmp_path, data_of("lab-roce"), rename)
    changes = grown.changes
    assert not changes.devices.added
    assert not changes.devices.removed
    assert changes.devices.renamed["st-s00n0"] == "dk-s00n0"
    assert changes.devices.renamed["rtsw-p01r01"] == "torsw-p01r01"
    assert grown.moved() == NOTHING | {"names": 6}
    assert not kept_after(grown.before, grown.after), "a new name takes nothing away"
    path = tmp_path / "cluster.yaml"
    former = {now: was for was, now in changes.devices.renamed.items()}
    assert manifest_names(path) == former, "before the file is written anew"
    allocate(path)
    assert manifest_names(path) == former, "and afterwards, by the file itself"
    assert "\nformerly:\n  dk-s00n0..1: st-s00n0..1\n" in allocation_file(path).read_text()
    write({key: value for key, value in json.loads(path.read_text()).items() if key != "renamed"}, path)
    allocate(path)
    assert manifest_names(path) == {}


def test_cables_laid_by_another_convention_are_where_they_are(tmp_path: Path) -> None:
    data = data_of("lab-roce")
    planned = build_plan(load_spec(write(data, tmp_path / "cluster.yaml")))
    item(item(data["fabrics"], "backend")["tiers"], "rtsw")["up"]["spread"] = "adjacent"
    laid = build_plan(load_spec(write(data, tmp_path / "adjacent.yaml")))
    uplinks = [cable for cable in laid.cables if cable.fabric == "backend" and cable.a.side == "up"]
    assert moved(laid, planned)["cables"] == 56
    rows = [f"{c.b.device},{c.b.port.upper()},x,{c.a.device},{c.a.port}" for c in uplinks]
    file = tmp_path / "as-built.csv"
    file.write_text("\r\n".join(["Z-Node Name,Z-Port,Rack,A-NODE NAME,A-Port", *rows]))
    pinned = pin(planned, read_cables(file), str(file), DAY)
    assert [(c.a, c.b) for c in pinned.cables if c not in laid.cables] == []
    assert moved(laid, pinned)["cables"] == 0
    path = tmp_path / "cluster.yaml"
    allocation_file(path).write_text(allocation_text(pinned.spec, record(pinned, DAY)))
    assert build_plan(load_spec(path)).cables == pinned.cables


def test_a_file_says_the_same_however_often_it_is_written(tmp_path: Path) -> None:
    for name in ("lab-roce", "lab-ib", "lab-nvue", "lab-sonic", "lab-tenants"):
        path = write(data_of(name), tmp_path / f"{name}.yaml")
        before = allocate(path)
        text = allocation_file(path).read_text()
        after = allocate(path, date(2027, 1, 1))
        assert allocation_file(path).read_text() == text
        assert (after.devices, after.cables, after.subnets) == (before.devices, before.cables, before.subnets)
        assert not Comparison(after, load_spec(path).allocated).disagreements
        assert not [finding for finding in lint_path(path).findings if finding.code.startswith("CW26")]
