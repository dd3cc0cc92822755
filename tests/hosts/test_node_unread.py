"""What systemd-networkd would do beyond what readers of nodes take in is named, and no claim over it is proven."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hosts.test_gpu_services import CONTAINERS, DRIVER, METRICS
from tests.hosts.test_node_encryption import OVERLAY as ENCRYPTED
from tests.hosts.test_receptor import OVERLAY as MESH
from tests.plans import plan_of, plan_with
from tests.proofs.ethernet_trees import tree
from tests.proofs.isolation.trees import tree as isolation_tree

from clusterwright.hosts.linux.reader.unread import HOST_FOLDERS, host_unread
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedFile, RenderedTree

NODE, FILE = "gpu-p00r00n0", "etc/systemd/network/20-be0.network"
NETWORKED = ("reachability", "isolation", "qos")


@pytest.mark.parametrize("spec", ["lab-roce", "lab-border", "lab-ib", "lab-sonic", "roce-24k", "ib-24k", "rsc"])
def test_nothing_that_is_rendered_is_unread(spec: str) -> None:
    plan = plan_of(spec)
    first = {device.node_group: device.name for device in plan.devices if device.kind == "node"}
    for name in first.values():
        for artifact in Rendering(plan).of_device(name):
            if artifact.path.startswith(HOST_FOLDERS):
                assert host_unread(artifact.path, artifact.content.decode()) == (), (name, artifact.path)


GPUS = tuple(
    "".join(("images:\n  - name: training\n", DRIVER, METRICS, CONTAINERS.format(f"runtime: {runtime}")))
    for runtime in ("podman", "enroot")
)


@pytest.mark.parametrize(
    "overlay", [MESH, ENCRYPTED, *GPUS], ids=["an execution mesh", "encryption", "podman", "enroot"]
)
def test_nothing_of_what_a_spec_may_ask_for_besides_is_unread(overlay: str, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", overlay)
    tried = 0
    for device in plan.devices:
        for artifact in Rendering(plan).of_device(device.name) if device.kind == "node" else ():
            if artifact.path.startswith(HOST_FOLDERS):
                tried += 1
                assert host_unread(artifact.path, artifact.content.decode()) == (), (device.name, artifact.path)
    assert tried


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("[Network]\n", "[Network]\nIPForward=yes\n", "[Network] / IPForward=yes"),
        ("[Network]\n", "[Network]\nBridge=br0\n", "[Network] / Bridge=br0"),
        ("DHCP=no\n", "DHCP=yes\n", "[Network] / DHCP=yes"),
        ("[Network]\n", "[Network]\nDescription=a \\\n", "[Network] / Description=a \\"),
        ("[Network]\n", "[Network]\nGateway= 10.9.9.9\n", "[Network] / Gateway= 10.9.9.9"),
        ("[Network]\n", "[Network]\nGateway=10.9.9.9 \n", "[Network] / Gateway=10.9.9.9"),
        ("[Network]\n", "[Network]\nGateway=10.9.9.9\r\n", "[Network] / Gateway=10.9.9.9"),
        ("[Network]\n", "[Route] \nGateway=10.9.9.9\n\n[Network]\n", "[Route]"),
        ("[Network]\n", " [Route]\nGateway=10.9.9.9\n\n[Network]\n", "[Route]"),
        ("[Network]\n", "[IPv6SendRA]\nManaged=no\n\n[Network]\n", "[IPv6SendRA]"),
        ("Name=be0\n", "Name=be*\n", "the whole file: it is not that of be0 alone"),
        ("Name=be0\n", "Name=be0\nName=be1\n", "the whole file: it is not that of be0 alone"),
    ],
)
def test_a_line_that_nobody_reads_leaves_claims_about_nodes_not_proven(old: str, new: str, text: str) -> None:
    subject = tree("lab-roce", {(NODE, FILE): lambda before: before.replace(old, new, 1)})
    for check in CHECKS:
        if check.name in NETWORKED and check.applies(subject):
            verdict = check.run(subject)
            assert not verdict.is_proven, check.name
            assert text in [place.unread.text for place in verdict.unread], check.name


@pytest.mark.parametrize(
    "path",
    [
        "etc/systemd/network/10-first.network",
        "etc/systemd/network/20-be0.network.d/more.conf",
        "etc/systemd/network/30-bond0.netdev",
        "run/systemd/network/20-be0.network",
    ],
)
def test_another_file_of_networkd_is_unread_as_a_whole(path: str) -> None:
    subject = tree("lab-roce")
    added = RenderedFile(NODE, path, "node-network", lambda: "[Match]\nName=be0\n\n[Network]\nAddress=10.9.9.9/24\n")
    planted = RenderedTree(subject.cluster, {**subject.files, (NODE, path): added}, subject.declaration)
    verdict = next(check for check in CHECKS if check.name == "reachability").run(planted)
    assert not verdict.is_proven
    assert [place.unread.file for place in verdict.unread] == [path]


UNITS = "etc/systemd/system"
SERVICE = "[Service]\nExecStart=/usr/sbin/nft flush ruleset\n"


def with_file(path: str, text: str) -> RenderedTree:
    subject = isolation_tree("lab-roce", NODE)
    added = RenderedFile(NODE, path, "", lambda: text)
    return RenderedTree(subject.cluster, {**subject.files, (NODE, path): added}, subject.declaration)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{UNITS}/more.service", SERVICE),
        (f"{UNITS}/nftables.service", SERVICE),
        (f"{UNITS}/nftables.service.d/99-more.conf", SERVICE),
        ("run/systemd/system/more.service", SERVICE),
        (f"{UNITS}/rdma-names.service", "[Service]\nExecStartPost=/usr/sbin/nft flush ruleset\n"),
        (f"{UNITS}/rdma-names.service", "[Service]\nOnFailure=more.service\n"),
        (f"{UNITS}/roce-qos.service", "[Unit]\nConditionPathExists=/never\n"),
        (f"{UNITS}/home.mount", "[Unit]\n AssertPathExists = /never\n"),
        (f"{UNITS}/home.mount", "[Unit]\nOnSuccess=more.service\n"),
    ],
)
def test_a_unit_that_nobody_knows_leaves_what_it_could_undo_not_proven(path: str, text: str) -> None:
    verdict = ISOLATION.run(with_file(path, text))
    assert not verdict.is_proven
    assert [place.unread.file for place in verdict.unread] == [path]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{UNITS}/nftables.service", ""),
        (f"{UNITS}/firewalld.service", SERVICE),
        (f"{UNITS}/multi-user.target.wants/ufw.service", ""),
        (f"{UNITS}/multi-user.target.d/99-more.conf", "[Unit]\nWants=netfilter-persistent.service\n"),
        (f"{UNITS}/home.mount", "[Unit]\nRequires=a.service iptables.service\n"),
        (f"{UNITS}/node-health.timer", "[Timer]\nUnit=firewalld.service\n"),
    ],
)
def test_another_filter_on_a_node_refutes_isolation(path: str, text: str) -> None:
    assert path in [example.file for example in ISOLATION.run(with_file(path, text)).counterexamples]


def test_a_condition_of_the_filter_refutes_isolation() -> None:
    path = f"{UNITS}/nftables.service.d/90-clusterwright.conf"
    text = isolation_tree("lab-roce", NODE).text(NODE, path)
    assert text is not None
    verdict = ISOLATION.run(with_file(path, f"{text}\n[Unit]\nConditionPathExists=/never\n"))
    assert ["ConditionPathExists" in example.message for example in verdict.counterexamples] == [True]


def test_masked_units_and_wishes_for_others_touch_nothing() -> None:
    for path in (f"{UNITS}/cron.service", f"{UNITS}/ufw.service", f"{UNITS}/multi-user.target.wants/cron.service"):
        verdict = ISOLATION.run(with_file(path, ""))
        assert verdict.counterexamples == ()
        assert verdict.unread == ()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/profile.d/site.sh", "export NCCL_IB_TC=0\n"),
        ("etc/profile.d/clusterwright-nccl.sh", "export NCCL_IB_TC=0\n"),
        ("etc/environment", "PATH=/bin\nNCCL_NET=Socket\n"),
        ("home/alice/.nccl.conf", "NCCL_IB_TC=0\n"),
        ("root/.nccl.conf", "A=1\n"),
    ],
)
def test_what_tells_nccl_otherwise_leaves_classes_not_proven(path: str, text: str) -> None:
    subject = tree("lab-roce")
    added = RenderedFile(NODE, path, "", lambda: text)
    planted = RenderedTree(subject.cluster, {**subject.files, (NODE, path): added}, subject.declaration)
    verdict = next(check for check in CHECKS if check.name == "qos").run(planted)
    assert not verdict.is_proven
    assert [place.unread.file for place in verdict.unread] == [path]
    harmless = RenderedFile(NODE, "etc/profile.d/path.sh", "", lambda: "PATH=/bin\n")
    same = RenderedTree(subject.cluster, {**subject.files, (NODE, harmless.path): harmless}, subject.declaration)
    assert next(check for check in CHECKS if check.name == "qos").run(same).is_proven
