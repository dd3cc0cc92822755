"""Kueue's topology: against the documented v1beta2 objects, and against where nodes really are."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
import yaml
from tests.render.plans import plan_of

from clusterwright.plan.model import Plan
from clusterwright.render import kueue
from clusterwright.render.slurm import controllers

MOST_LEVELS = 16
LABEL = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def _labels(plan: Plan, node: str) -> dict[str, str]:
    (artifact,) = kueue.render(plan, plan.by_name[node])
    found = re.search(r'^KUBELET_EXTRA_ARGS="--node-labels=(.*)"$', artifact.content.decode(), re.M)
    assert found is not None
    return dict(pair.split("=") for pair in found[1].split(","))


@pytest.mark.parametrize("name", ["lab-roce", "roce-24k"])
def test_the_objects_are_kueue_s(name: str) -> None:
    plan = plan_of(name)
    (artifact,) = kueue.render(plan, plan.by_name[controllers(plan)[0]])
    topology, flavor = yaml.safe_load_all(artifact.content)
    assert (topology["apiVersion"], topology["kind"]) == ("kueue.x-k8s.io/v1beta2", "Topology")
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert len(levels) == len(set(levels)) <= MOST_LEVELS
    assert levels[-1] == "kubernetes.io/hostname"
    assert [level.rpartition("/")[2] for level in levels[:-1]] == ["pod", "rack"]
    assert all(LABEL.fullmatch(level) for level in levels)
    assert (flavor["apiVersion"], flavor["kind"]) == ("kueue.x-k8s.io/v1beta2", "ResourceFlavor")
    assert flavor["spec"]["topologyName"] == topology["metadata"]["name"]
    node = next(d.name for d in plan.devices if kueue.applies(plan, d) and d.role == "node")
    assert set(levels[:-1]) | set(flavor["spec"]["nodeLabels"]) == set(_labels(plan, node))
    assert flavor["spec"]["nodeLabels"].items() <= _labels(plan, node).items()


def test_nodes_say_where_they_are() -> None:
    plan = plan_of("lab-roce")
    nodes = [device for device in plan.devices if device.node_group == "compute"]
    racks: dict[str, set[str]] = defaultdict(set)
    for device in nodes:
        found = _labels(plan, device.name)
        assert found["topology.lab.example.net/pod"] == device.pod
        assert all(LABEL.fullmatch(value) for value in found.values())
        racks[found["topology.lab.example.net/rack"]].add(device.rack)
    assert all(len(each) == 1 for each in racks.values())
    assert len(racks) == 4
