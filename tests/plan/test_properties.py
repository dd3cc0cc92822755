"""Every generated spec is refused with a finding, or becomes a plan that keeps every promise (invariants.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.plan.invariants import check_plan
from tests.strategies import EXAMPLES, Case, as_it_comes, built_to_fit

from clusterwright.finding import Severity
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.model import Cable, Plan
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

UNDECLARED_OVERSUBSCRIPTION = "CW204"
CUT_OFF = "CW240"
NARROWER_THAN_PROMISED = "CW224"
MISSED_EXPECTATION = "CW203"
TOO_FEW_PORTS = "CW201"
OTHER_PATHS = settings(max_examples=EXAMPLES // 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of this module: each example writes its two files anew."""
    return tmp_path_factory.mktemp("generated")


def errors(path: Path) -> set[str]:
    """The codes of the errors that lint finds; every finding says where and what to do."""
    findings = lint_path(path).findings
    for finding in findings:
        assert finding.position.line >= 1
        assert finding.message
        assert finding.hint
    return {finding.code for finding in findings if finding.severity is Severity.ERROR}


def owning_up(case: Case, folder: Path) -> Case:
    """The case, declaring the oversubscription that it has."""
    spec = load_spec(case.write(folder))
    known = figures(spec, build_skeleton(spec))
    over = {name.replace(".", "__"): value for name, value in known.items() if name.startswith("oversubscription.")}
    return case.declaring(**over)


def accepted(case: Case, folder: Path) -> tuple[Case, set[str]]:
    """The case, with its oversubscription declared where that is all lint objects to, and what lint then says."""
    codes = errors(case.write(folder))
    if UNDECLARED_OVERSUBSCRIPTION in codes:
        case = owning_up(case, folder)
        codes = errors(case.write(folder))
        assert UNDECLARED_OVERSUBSCRIPTION not in codes
    return case, codes


def plan_of(case: Case, folder: Path) -> Plan:
    return build_plan(load_spec(case.write(folder)))


@given(case=built_to_fit())
def test_a_cluster_built_to_fit_keeps_every_promise(case: Case, folder: Path) -> None:
    case, codes = accepted(case, folder)
    # A short last pod or a node with few NICs may leave a switch dark; switches without one above are pieces, or planes
    # without a subnet manager; breakouts are drawn for each tier, so that the ends of a cable may differ in lanes;
    # units that are not full, or spread unevenly, have less of InfiniBand's bandwidth than the figure of the tier says.
    # Speeds are drawn for each tier, so that an InfiniBand uplink may be slower than an adapter, and heights
    # for each model, so that a rack may be too low.
    # Where a switch stays dark, the links go to others, which may then lack ports.
    lacking = {"CW201"} if "CW207" in codes else set()
    assert (
        codes <= {"CW207", "CW214", "CW219", "CW223", "CW224", "CW229", "CW242", "CW244", "CW431", "CW701"} | lacking
    ), codes
    assume(not codes)
    spec = load_spec(folder / "cluster.yaml")
    skeleton = build_skeleton(spec)
    check_plan(spec, skeleton, build_plan(spec))


@given(case=as_it_comes())
def test_any_cluster_is_refused_or_keeps_every_promise(case: Case, folder: Path) -> None:
    case, codes = accepted(case, folder)
    if not codes:
        spec = load_spec(folder / "cluster.yaml")
        check_plan(spec, build_skeleton(spec), build_plan(spec))


@OTHER_PATHS
@given(case=built_to_fit())
def test_the_ports_a_plan_uses_are_enough_and_one_less_is_refused(case: Case, folder: Path) -> None:
    models = case.tier_models("backend")
    case = case.with_cages(dict.fromkeys(models, 700))
    case, codes = accepted(case, folder)
    assume(not codes)
    plan = plan_of(case, folder)
    used = dict.fromkeys(models, 0)
    for device in plan.devices:
        if device.model in used:
            ports = {e.port for c in plan.cables_of[device.name] for e in (c.a, c.b) if e.device == device.name}
            used[device.model] = max(used[device.model], len(ports - {"mgmt0"}))
    assert not errors(case.with_cages(used).write(folder))
    for model in models:
        if used[model] > 1:
            assert errors(case.with_cages({**used, model: used[model] - 1}).write(folder)) == {TOO_FEW_PORTS}


@OTHER_PATHS
@given(case=built_to_fit(), factor=st.sampled_from([0.5, 0.99, 1.01, 2]))
def test_declared_oversubscription_is_met_or_refused(case: Case, factor: float, folder: Path) -> None:
    honest = owning_up(case, folder)
    assume(bool(honest.cluster["expect"]))
    assume(not errors(honest.write(folder)))
    name = honest.cluster["expect"][0]["figure"].replace(".", "__")
    value = honest.cluster["expect"][0]["value"] * factor
    rest = {item["figure"].replace(".", "__"): item["value"] for item in honest.cluster["expect"][1:]}
    codes = errors(honest.declaring(**{name: value}, **rest).write(folder))
    assert MISSED_EXPECTATION in codes
    assert codes <= {MISSED_EXPECTATION, NARROWER_THAN_PROMISED}


@OTHER_PATHS
@given(case=built_to_fit(), data=st.data())
def test_a_port_out_of_service_moves_its_cable_alone(case: Case, data: st.DataObject, folder: Path) -> None:
    case, codes = accepted(case, folder)
    assume(not codes)
    before = plan_of(case, folder)
    ends = [(end.device, end.port) for cable in before.cables for end in (cable.a, cable.b)]
    device, port = data.draw(st.sampled_from(ends))
    case = case.with_exceptions({"device": device, "port": port, "state": "out-of-service"})
    codes = errors(case.write(folder))
    assert codes <= {CUT_OFF}
    assume(not codes)  # the only NIC of a node
    after = plan_of(case, folder)
    for cable in after.cables:
        for end in (cable.a, cable.b):
            assert not cable.in_service or (end.device, end.port) != (device, port)
    assert after.devices == before.devices
    assert after.subnets == before.subnets
    moved = [(old, new) for old, new in zip(before.cables, after.cables, strict=True) if old != new]
    assert len(moved) == 1
    assert (device, port) in {(moved[0][0].a.device, moved[0][0].a.port), (moved[0][0].b.device, moved[0][0].b.port)}
    assert without_ports(moved[0][0]) == without_ports(moved[0][1])
    check_plan(after.spec, build_skeleton(after.spec), after)


def without_ports(cable: Cable) -> tuple[object, ...]:
    """A cable as its ends see it, whichever ports it is in."""
    seen = [(end.device, end.side, end.speed_gbps, end.address, end.guid) for end in (cable.a, cable.b)]
    return (cable.fabric, cable.tier, *seen, cable.medium, cable.length_m)


@OTHER_PATHS
@given(case=built_to_fit(), data=st.data())
def test_a_drained_device_takes_its_cables_out_of_service_and_changes_nothing_else(
    case: Case, data: st.DataObject, folder: Path
) -> None:
    case, codes = accepted(case, folder)
    assume(not codes)
    before = plan_of(case, folder)
    name = data.draw(st.sampled_from([device.name for device in before.devices]))
    state = data.draw(st.sampled_from(["drained", "out-of-service"]))
    case = case.with_exceptions({"device": name, "state": state})
    # A subnet manager may have to route through the switch, or run on the node, and it may hold a fabric together.
    refused = errors(case.write(folder))
    assert refused <= {"CW216", "CW217", "CW240"}, refused
    assume(not refused)
    after = plan_of(case, folder)
    for old, new in zip(before.devices, after.devices, strict=True):
        assert (old == new) == (old.name != name)
    for was, now in zip(before.cables, after.cables, strict=True):
        assert was.in_service
        managed = now.a.device == name and now.a.side == "management" and state == "drained"
        assert now.in_service == (name not in {now.a.device, now.b.device} or managed)
        assert (was.a, was.b) == (now.a, now.b)
    assert after.subnets == before.subnets


@OTHER_PATHS
@given(case=built_to_fit())
def test_the_same_spec_gives_an_equal_plan(case: Case, folder: Path) -> None:
    case, codes = accepted(case, folder)
    assume(not codes)
    one, other = plan_of(case, folder), plan_of(case, folder)
    assert (one.devices, one.cables, one.groups) == (other.devices, other.cables, other.groups)
    assert one.subnets == other.subnets
