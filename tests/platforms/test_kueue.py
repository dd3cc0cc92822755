"""Kueue's topology: against the documented v1beta2 objects, and against where nodes really are."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import pytest
import yaml
from tests.platforms.plans import plan_of

from clusterwright import data_files
from clusterwright.intent.scheduling import controllers
from clusterwright.output.engine import render_devices
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.platforms.image.packages import all_packages
from clusterwright.platforms.kueue import writer as kueue
from clusterwright.rules.engine import lint_document
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.load import load_spec_document
from clusterwright.spec.text.extends import read_spec_document

ALONE = {"kind": "kueue", "nodes": "compute", "kueue": {"label_prefix": "topology.lab.example.net", "flavor": "h100"}}
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
    artifact, *_ = kueue.render(plan, plan.by_name[controllers(plan, plan.spec.schedulers[0])[0]])
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


@pytest.mark.parametrize(("spec", "file"), [("lab-roce", "etc/default/kubelet"), ("roce-24k", "etc/sysconfig/kubelet")])
def test_kubelet_reads_its_labels_where_its_package_looks(spec: str, file: str) -> None:
    plan = plan_of(spec)
    node = next(device for device in plan.devices if device.role == "node" and kueue.applies(plan, device))
    (artifact,) = kueue.render(plan, node)
    assert artifact.path == file


def test_where_kueue_places_jobs_alone_nothing_of_slurm_is_rendered() -> None:
    document = read_spec_document(data_files.folder("inventory") / "lab-roce.yaml")
    document = replace(document, data={**document.data, "scheduler": ALONE})
    assert not lint_document(document).findings
    alone, beside = build_plan(load_spec_document(document)), plan_of("lab-roce")

    files = {(each.device, each.path): each.kind for each in render_devices(alone)}

    assert "kueue" in files.values()
    assert not {path for (_, path), kind in files.items() if kind == "slurm" or "slurm" in path}
    assert {"munge", "slurmd"} <= set(_packages(beside))
    assert not {"munge", "slurmd"} & set(_packages(alone))


def _packages(plan: Plan) -> list[str]:
    image = plan.spec.images[0]
    distribution = distribution_of(image.distribution)
    assert distribution is not None
    return [package.name for package in all_packages(plan, image, distribution)]
