"""Waves: what may be away at once, on the reference clusters, on generated ones, and by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import Case, built_to_fit

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.units import Stack, cut
from clusterwright.device_files.effect import Effect
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rollout.bandwidth import ways_of
from clusterwright.rollout.waves import Wave, plan_waves
from clusterwright.spec.load import load_spec
from clusterwright.spec.rollout import DEFAULT_ROLLOUT, RolloutPolicy


@cache
def reference(name: str) -> tuple[Plan, tuple[Stack, ...]]:
    plan = build_plan(load_spec(folder("inventory") / f"{name}.yaml"))
    return plan, cut(plan)


def everything(plan: Plan, effect: Effect = Effect.RESTART) -> dict[str, Effect]:
    return {device.name: effect for device in plan.devices}


def assert_sound(plan: Plan, changes: dict[str, Effect], waves: tuple[Wave, ...], policy: RolloutPolicy) -> None:
    """What every rollout promises: each change once, canaries first, and no wave over the policy without saying so."""
    assert sorted(name for wave in waves for name in wave.devices) == sorted(changes)
    first_other = next((index for index, wave in enumerate(waves) if not wave.is_canary), len(waves))
    assert not any(wave.is_canary for wave in waves[first_other:])
    ways = ways_of(plan)
    for wave in waves:
        away = {name for name in wave.devices if changes[name] > Effect.LIVE}
        assert wave.bandwidth_left == pytest.approx(ways.worst(away, wave.disturbed)[0])
        if wave.breaks:
            assert len(wave.units) == 1, "a wave that breaks a promise is as small as it can be"
        else:
            assert wave.bandwidth_left >= policy.min_bandwidth_percent / 100 - 1e-6
            assert len(wave.disturbed) <= policy.racks_at_once


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "roce-24k", "rsc"])
def test_the_reference_clusters_change_as_a_whole(name: str) -> None:
    plan, stacks = reference(name)
    policy = plan.spec.rollout

    waves = plan_waves(plan, stacks, everything(plan), policy)

    assert_sound(plan, everything(plan), waves, policy)
    assert waves == plan_waves(plan, stacks, everything(plan), policy)


@given(case=built_to_fit(), data=st.data())
def test_generated_clusters_keep_the_policy(case: Case, data: st.DataObject) -> None:
    with TemporaryDirectory() as scratch:
        plan = build_plan(load_spec(case.write(Path(scratch))))
    chosen = data.draw(st.lists(st.sampled_from([device.name for device in plan.devices]), unique=True, min_size=1))
    changes = {name: data.draw(st.sampled_from(list(Effect))) for name in chosen}
    policy = replace(
        DEFAULT_ROLLOUT,
        canaries=data.draw(st.integers(0, 2)),
        min_bandwidth_percent=data.draw(st.sampled_from([0.0, 50.0, 75.0, 100.0])),
        racks_at_once=data.draw(st.integers(1, 4)),
    )

    assert_sound(plan, changes, plan_waves(plan, cut(plan), changes, policy), policy)


def test_both_switches_of_a_pair_never_go_together() -> None:
    plan, stacks = reference("lab-roce")
    pair = dict.fromkeys(("ctsw-p00-00", "ctsw-p00-01"), Effect.RESTART)

    waves = plan_waves(plan, stacks, pair, replace(DEFAULT_ROLLOUT, canaries=0, min_bandwidth_percent=50))

    assert [wave.units for wave in waves] == [("ctsw-p00-00",), ("ctsw-p00-01",)]
    assert [wave.bandwidth_left for wave in waves] == [0.5, 0.5]


def test_a_live_change_takes_nothing_away_and_still_leaves_half_of_a_group_alone() -> None:
    plan, stacks = reference("lab-roce")
    changes = {device.name: Effect.LIVE for device in plan.devices_of("ctsw") if device.pod == "p00"}

    waves = plan_waves(plan, stacks, changes, replace(DEFAULT_ROLLOUT, canaries=0, min_bandwidth_percent=100))

    assert [wave.units for wave in waves] == [("ctsw-p00-00",), ("ctsw-p00-01",)]
    assert {(wave.bandwidth_left, wave.disturbed, wave.effect) for wave in waves} == {(1.0, (), Effect.LIVE)}


@pytest.mark.parametrize(
    ("role", "sizes"), [("atsw", [1, 1, 6, 12, 4]), ("ssw", [1, 1, 4, 8, 2]), ("rtsw", [1, 76, 115, 192])]
)
def test_live_waves_grow_and_take_no_more_than_half_of_a_group(role: str, sizes: list[int]) -> None:
    """24 ATSW and 16 SSW stand in for each other; 1,536 racks, of which a pod has 192, do not."""
    plan, stacks = reference("roce-24k")
    changes = {device.name: Effect.LIVE for device in plan.devices_of(role)}

    waves = plan_waves(plan, stacks, changes, DEFAULT_ROLLOUT)

    assert [len(wave.units) for wave in waves][: len(sizes)] == sizes
    assert sum(len(wave.devices) for wave in waves) == len(changes)
    assert len(waves) <= 10


def test_one_canary_of_each_kind_goes_first() -> None:
    plan, stacks = reference("roce-24k")
    changes = {device.name: Effect.REBOOT for device in plan.devices_of("node") if device.pod in ("p00", "p01")}

    waves = plan_waves(plan, stacks, changes, replace(DEFAULT_ROLLOUT, racks_at_once=64))

    assert (waves[0].is_canary, waves[0].units) == (True, ("p00r000",))
    assert [len(wave.units) for wave in waves[1:]] == [19, 64, 64, 44, 64, 64, 64]
    assert {wave.layer for wave in waves} == {"pod0", "pod1"}


def test_a_wave_of_which_no_cut_could_keep_the_policy_says_so_and_stands_alone() -> None:
    plan, stacks = reference("lab-roce")

    (wave,) = plan_waves(plan, stacks, {"mgmt-00": Effect.RESTART}, DEFAULT_ROLLOUT)

    assert wave.breaks == "p00r00 keeps 0% of its uplink bandwidth on management, below 75%, in any split"


def test_members_of_a_service_take_turns() -> None:
    plan, stacks = reference("rsc")
    group = next(group for group in plan.spec.node_groups if group.role == "service" and group.count > 2)
    changes = {device.name: Effect.REBOOT for device in plan.devices if device.node_group == group.name}

    waves = plan_waves(plan, stacks, changes, replace(DEFAULT_ROLLOUT, canaries=0))

    assert all(len(wave.units) <= group.count // 2 for wave in waves)
    assert not any(wave.breaks for wave in waves)


def test_a_rack_keeps_the_bandwidth_that_a_flow_over_what_is_left_finds() -> None:
    """The share of one loss at the lowest layer is exact: networkx's maximum flow says the same."""
    plan, _ = reference("roce-24k")
    ways = ways_of(plan)
    down = {device.name for device in plan.devices_of("ctsw") if device.pod == "p00"} - {"ctsw-p00-17"}
    lost = set(sorted(down)[:5])

    share, rack, fabric = ways.worst(lost)

    graph = nx.DiGraph()
    for cable in plan.cables:
        if cable.fabric == fabric and cable.in_service and plan.by_name[cable.a.device].kind == "switch":
            capacity = graph.get_edge_data(cable.a.device, cable.b.device, {"capacity": 0})["capacity"]
            graph.add_edge(cable.a.device, cable.b.device, capacity=capacity + cable.speed_gbps)
    leaf = next(device for device in plan.devices_of("rtsw") if device.rack == rack)
    tops = {name for name in graph if not graph.out_degree(name)}
    graph.add_edges_from((top, "top", {"capacity": 10**9}) for top in tops)
    whole = nx.maximum_flow_value(graph, leaf.name, "top")
    graph.remove_nodes_from(lost)
    assert share == pytest.approx(nx.maximum_flow_value(graph, leaf.name, "top") / whole)


def test_a_drained_switch_is_no_loss() -> None:
    plan, _ = reference("lab-roce")
    cables = tuple(
        cable._replace(in_service="ctsw-p00-00" not in (cable.a.device, cable.b.device)) for cable in plan.cables
    )

    assert ways_of(replace(plan, cables=cables)).worst({"ctsw-p00-00"}) == (1.0, "", "")
