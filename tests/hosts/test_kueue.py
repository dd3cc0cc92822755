"""Kueue's topology: against the documented v1beta2 objects, and against where nodes really are."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.hosts.kueue import writer as kueue
from clusterwright.intent.image.packages import all_packages
from clusterwright.intent.scheduling import controllers
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_document
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.load import load_spec_document
from clusterwright.spec.text.extends import read_spec_document

ALONE = {"kind": "kueue", "nodes": "compute", "kueue": {"label_prefix": "topology.lab.example.net", "flavor": "h100"}}
MOST_LEVELS = 16
LABEL = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def _labels(plan: Plan, node: str) -> dict[str, str]:
    (artifact,) = kueue.render(plan, plan.by_name[node])
    match = re.search(r'^KUBELET_EXTRA_ARGS="--node-labels=(.*)"$', artifact.content.decode(), re.M)
    assert match is not None
    return dict(pair.split("=") for pair in match[1].split(","))


@pytest.mark.parametrize("name", ["lab-roce", "roce-24k"])
def test_the_objects_are_kueue_s(name: str) -> None:
    plan = plan_of(name)
    artifact, *_ = kueue.render(plan, plan.by_name[controllers(plan, plan.spec.schedulers[0])[0]])
    topology, flavor = yaml.safe_load_all(artifact.content)
    schema = json.loads((data_files.folder("inventory") / "schema/kueue.schema.json").read_text())
    for kueue_object in (topology, flavor):
        Draft202012Validator(schema).validate(kueue_object)
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

    files = {(artifact.device, artifact.path): artifact.kind for artifact in Rendering(alone).of_devices()}

    assert "kueue" in files.values()
    assert not {path for (_, path), kind in files.items() if kind == "slurm" or "slurm" in path}
    assert {"munge", "slurmd"} <= set(_packages(beside))
    assert not {"munge", "slurmd"} & set(_packages(alone))


def _packages(plan: Plan) -> list[str]:
    image = plan.spec.images[0]
    distribution = distribution_of(image.distribution)
    assert distribution is not None
    return [package.name for package in all_packages(plan, image, distribution)]


def test_a_pod_sees_its_devices_its_memory_and_the_node_s_network() -> None:
    plan = plan_of("lab-roce")
    controller = next(device for device in plan.devices if device.role == "service")
    files = {artifact.path: artifact.content for artifact in kueue.render(plan, controller)}
    pod = yaml.safe_load(files["etc/kueue/pod.yaml"])["spec"]
    assert pod["hostNetwork"] is True
    assert pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8, "rdma/hca_shared_devices_a": 1}
    assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["shm"] == "/dev/shm"
    assert volumes["shm"]["emptyDir"]["medium"] == "Memory"
    assert volumes.keys() == mounts.keys()


# An API server, a node, and a pod: in the node's network, or in one behind it that the node would have to forward.
REACH = """
set -eu
for name in n p a; do ip netns add $name; done
ip link add bond0 netns n type veth peer name a0 netns a
ip link add cni0 netns n type veth peer name eth0 netns p
ip -n n addr add {node}/64 dev bond0 nodad; ip -n n addr add fd00:99::1/64 dev cni0 nodad
ip -n a addr add {server}/64 dev a0 nodad; ip -n p addr add fd00:99::2/64 dev eth0 nodad
for name in n p a; do ip -n $name link set lo up; done
ip -n n link set bond0 up; ip -n n link set cni0 up; ip -n a link set a0 up; ip -n p link set eth0 up
ip -n n route replace {server}/128 dev bond0; ip -n a route replace {node}/128 dev a0
ip -n a route add fd00:99::/64 via {node} dev a0
ip -n p route add default via fd00:99::1
ip netns exec n sysctl -q -p {settings} || :
ip netns exec n nft -f {filter}
ip netns exec a python3 -c 'import socket
server = socket.create_server(("::", 6443), family=socket.AF_INET6)
while True: server.accept()' &
sleep 1
for name in n p; do
    state=closed
    ip netns exec $name python3 -c 'import socket
socket.create_connection(("{server}", 6443), 2)' 2> /dev/null && state=open || :
    echo $name $state
done
kill $!
"""


def test_a_pod_in_the_node_s_network_reaches_the_api_server_through_the_rendered_filter(tmp_path: Path) -> None:
    """And one in a network of its own does not: nodes forward nothing, and their filter knows no such address."""
    kueue_of = "{label_prefix: topology.lab.example.net, flavor: gpus}"
    scheduler = f"scheduler: {{kueue: {kueue_of}}}\n"
    flow = "{name: api, from: compute, to: services, protocol: tcp, ports: [6443], reason: kubelets, owner: scheduling}"
    plan = plan_with(tmp_path, "lab-roce", f"{scheduler}flows: [{flow}]\n")
    files = {artifact.path: artifact.content for artifact in Rendering(plan).of_device("gpu-p00r00n0")}
    for name, path in (("filter", "etc/nftables.conf"), ("settings", "etc/sysctl.d/90-clusterwright.conf")):
        (tmp_path / name).write_bytes(files[path])
    ends = {}
    for device in ("gpu-p00r00n0", "svc-v00n0"):
        cable = next(c for c in plan.cables_of[device] if c.fabric == "frontend" and c.a.address is not None)
        ends[device] = str(ip_address(cable.a.address or 0))
    words = {"node": ends["gpu-p00r00n0"], "server": ends["svc-v00n0"]}
    interface = next(c.a.port for c in plan.cables_of["gpu-p00r00n0"] if c.fabric == "frontend")
    script = REACH.format(filter=tmp_path / "filter", settings=tmp_path / "settings", **words)
    script = script.replace("bond0", interface)
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]
    own = "mount -t tmpfs none /run && mkdir -p /run/netns\n"
    done = subprocess.run([*command, own + script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split("\n")[:2] == ["n open", "p closed"], done.stdout + done.stderr
