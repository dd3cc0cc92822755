"""What an exception changes is found without rendering everything, and nothing of it is missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusterwright.data_files import folder
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.plan.service import DRAINED, OUT_OF_SERVICE
from clusterwright.rollout.draining import devices_changed
from clusterwright.rollout.preview.preview import drained_alone
from clusterwright.rollout.preview.spec_lines import SpecChange
from clusterwright.spec.load import load_spec
from clusterwright.spec.model import ClusterSpec, SpecException

SPECS = ("lab-roce", "lab-ib", "lab-sonic", "lab-nvue", "lab-tenants", "lab-border")
EDIT = (SpecChange("exceptions[ctsw-p00-00]", "", "drained", "spec.yaml:1"),)


def loaded(name: str) -> ClusterSpec:
    return load_spec(folder("inventory") / f"{name}.yaml")


def with_exceptions(spec: ClusterSpec, *items: tuple[str, str | None, str]) -> Plan:
    found = (SpecException(device, None, port, state, None, "a ticket", ()) for device, port, state in items)
    return build_plan(replace(spec, exceptions=(*spec.exceptions, *found)))


def files(plan: Plan) -> dict[str, set[tuple[str, int, str]]]:
    return {
        device.name: {(file.path, file.mode, file.sha256) for file in Rendering(plan).of_device(device.name)}
        for device in plan.devices
    }


def one_of_each_kind(plan: Plan) -> Iterator[tuple[str, str | None]]:
    """The first device of each role and model, and of each switch the first and last port that has a cable."""
    seen: set[tuple[str, ...]] = set()
    for device in plan.devices:
        kind = (device.kind, device.role, device.fabric, device.model)
        if kind in seen:
            continue
        seen.add(kind)
        yield device.name, None
        ends = [end for cable in plan.cables_of.get(device.name, ()) for end in (cable.a, cable.b)]
        ports = [end.port for end in ends if end.device == device.name]
        if device.kind == "switch" and ports:
            yield device.name, ports[0]
            yield device.name, ports[-1]


@pytest.mark.parametrize("name", SPECS)
def test_every_device_that_changes_by_an_exception_is_found(name: str) -> None:
    spec = loaded(name)
    before = build_plan(spec)
    held = files(before)
    changes = 0
    for device, port in one_of_each_kind(before):
        after = with_exceptions(spec, (device, port, DRAINED))
        wanted = files(after)
        changed = tuple(device.name for device in after.devices if held[device.name] != wanted[device.name])
        assert devices_changed(before, after, (device,)) == changed, f"{device} {port}"
        changes += bool(changed)
    assert changes > 3


def test_one_cable_of_a_group_may_be_drained_and_nothing_beside_it() -> None:
    spec = loaded("lab-roce")
    before = build_plan(spec)
    cable = ("rtsw-p00r00", "eth8/1/1", DRAINED)
    switch = ("ctsw-p00-01", None, DRAINED)
    one = with_exceptions(spec, cable)
    assert drained_alone(one, with_exceptions(spec, cable, switch), EDIT) == ()
    assert drained_alone(with_exceptions(spec, switch), with_exceptions(spec, switch, cable), EDIT) == ()
    assert drained_alone(before, with_exceptions(spec, cable, ("gpu-p00r00n0", None, OUT_OF_SERVICE)), EDIT) == ()
