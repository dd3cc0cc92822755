"""Generated clusters that grow, shrink and change their order: whatever the spec is, nothing that stands moves."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.plan.grown import DAY, NOTHING, moved
from tests.plan.invariants import check_plan
from tests.strategies import EXAMPLES, Case, built_to_fit

from clusterwright.plan.allocation.disagreement import Comparison
from clusterwright.plan.allocation.record import record
from clusterwright.plan.allocation.writing import allocation_text
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import allocation_file, load_spec


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growing")


def is_refused(path: Path) -> bool:
    return any(error.code not in {"CW203", "CW204"} for error in lint_path(path).errors)


def allocated(case: Case, folder: Path) -> Plan:
    """The plan of a case, written down beside its spec."""
    path = case.write(folder)
    allocation_file(path).unlink(missing_ok=True)
    assume(not is_refused(path))
    plan = build_plan(load_spec(path))
    allocation_file(path).write_text(allocation_text(plan.spec, record(plan, DAY)))
    return plan


def changed(case: Case, data: st.DataObject) -> Case:
    """The case with other counts, and now and then its node groups in another order."""
    cluster = copy.deepcopy(case.cluster)
    for group in cluster["nodes"]:
        group["count"] = max(1, group["count"] + data.draw(st.integers(-2, 6)))
    if data.draw(st.booleans()):
        cluster["nodes"].reverse()
    return Case(cluster, case.hardware)


@settings(max_examples=EXAMPLES // 2)
@given(case=built_to_fit(), data=st.data())
def test_nothing_that_stands_moves(case: Case, data: st.DataObject, folder: Path) -> None:
    before = allocated(case, folder)
    path = changed(case, data).write(folder)
    assume(not is_refused(path))
    after = build_plan(load_spec(path))
    assert moved(before, after) | {"numbers": 0} == NOTHING
    own = {device.name: (device.asn, device.loopback, device.guid, device.index) for device in before.devices}
    assert all(
        own.get(device.name, now) == now
        for device in after.devices
        for now in [(device.asn, device.loopback, device.guid, device.index)]
    )
    assert not Comparison(after, after.spec.allocated).disagreements
    again = record(after, DAY)
    allocation_file(path).write_text(allocation_text(after.spec, again))
    repeated = build_plan(load_spec(path))
    assert (repeated.devices, repeated.cables, repeated.subnets) == (after.devices, after.cables, after.subnets)


@settings(max_examples=EXAMPLES // 4)
@given(case=built_to_fit())
def test_a_plan_beside_its_file_is_the_plan_without_it(case: Case, folder: Path) -> None:
    before = allocated(case, folder)
    spec = load_spec(folder / "cluster.yaml")
    skeleton = build_skeleton(spec)
    after = build_plan(spec, skeleton)
    assert (after.groups, after.devices, after.cables) == (before.groups, before.devices, before.cables)
    assert not [finding for finding in lint_path(folder / "cluster.yaml").findings if finding.code.startswith("CW26")]
    if not lint_path(folder / "cluster.yaml").errors:
        check_plan(spec, skeleton, after)
