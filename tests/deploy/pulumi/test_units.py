"""Cutting clusters into stacks and units."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.units import Stack, choose, cut
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

STACKS = Path(__file__).parents[3] / "stacks"


@cache
def stacks_of(name: str) -> tuple[Stack, ...]:
    return cut(build_plan(load_spec(folder("inventory") / f"{name}.yaml")))


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "roce-24k", "rsc-phase1", "rsc", "ib-24k"])
def test_every_device_is_in_exactly_one_unit_and_names_are_unique(name: str) -> None:
    plan = build_plan(load_spec(folder("inventory") / f"{name}.yaml"))
    stacks = cut(plan)

    placed = Counter(device for stack in stacks for unit in stack.units for device in unit.devices)
    assert placed == Counter(device.name for device in plan.devices)
    assert len({stack.name for stack in stacks}) == len(stacks)
    for stack in stacks:
        assert len({unit.name for unit in stack.units}) == len(stack.units)


def test_a_pod_of_the_roce_cluster_is_about_two_hundred_units() -> None:
    upper, pod0, *_ = stacks_of("roce-24k")

    assert (upper.name, pod0.name) == ("roce-24k-upper", "roce-24k-pod0")
    kinds = Counter(unit.kind for unit in pod0.units)
    assert kinds["rack"] == 192
    assert 192 < len(pod0.units) < 260


def test_a_rack_is_one_unit_with_its_switches_and_nodes() -> None:
    pod0 = choose(stacks_of("lab-roce"), ["pod0"])[0]

    assert pod0.units[0].name == "p00r00"
    assert pod0.units[0].devices == ("gpu-p00r00n0", "gpu-p00r00n1", "rsw-p00r00", "rtsw-p00r00")
    assert [unit.name for unit in pod0.units[2:]] == ["ctsw-p00-00", "ctsw-p00-01"]


def test_layers_are_chosen_by_either_name_and_kept_in_deployment_order() -> None:
    stacks = stacks_of("lab-roce")

    assert [stack.layer for stack in choose(stacks, ["p01", "upper"])] == ["upper", "pod1"]
    assert choose(stacks, []) == stacks


def test_an_unknown_layer_is_answered_with_those_there_are() -> None:
    with pytest.raises(ClusterwrightError, match=r"no layer 'pod9'; this cluster has upper, pod0, pod1"):
        choose(stacks_of("lab-roce"), ["pod9"])


def test_the_committed_stacks_name_layers_that_their_specs_have() -> None:
    files = sorted(STACKS.glob("Pulumi.*.yaml"))
    assert files
    for file in files:
        config = yaml.safe_load(file.read_text())["config"]
        spec = (STACKS / config["clusterwright:spec"]).resolve()
        (stack,) = choose(stacks_of(spec.stem), [config["clusterwright:layer"]])
        assert file.name == f"Pulumi.{stack.name}.yaml"
