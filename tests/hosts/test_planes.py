"""A fabric whose planes meet in its nodes alone: each plane is a subnet with managers of its own."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hosts.subnet import routed_subnet
from tests.plans import plan_with
from tests.proofs.trees import edited, verdict
from tests.rules.overlays import findings_of

from clusterwright.artifact import Artifact
from clusterwright.extras.bringup.infiniband_steps import first_steps
from clusterwright.extras.bringup.steps import AcceptanceLimits
from clusterwright.extras.bringup.unit import unit_of
from clusterwright.hosts.linux.effects import on_node
from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.hosts.opensm.writer.fabric import fabric_file
from clusterwright.observe.compare import compare
from clusterwright.observe.ibnetdiscover import parse
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.subnet import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.load import load_spec

PLANES = """\
fabrics:
  - name: backend
    tiers:
      - {role: spine, join: rail, count: 2}
"""
KEY = f"{PLANES}    subnet_manager: {{m_key: {{secret: fabric-key, protection: 2, lease_s: 60}}}}\n"
TWO_FABRICS = """\
version: 1
name: two
site: {domain: example.net}
nodes:
  - {name: compute, model: dgx-h100, role: node, count: 4, levels: [{name: rack, of: 4}]}
fabrics:
  - name: data
    technology: infiniband
    mtu: 4096
    attach: [{nodes: compute, nics: backend}]
    tiers: [{role: leaf, model: qm9790, per: cluster}]
    subnet_manager: {nodes: compute, count: 2, routing_engine: updn}
  - name: files
    technology: infiniband
    mtu: 4096
    attach: [{nodes: compute, nics: frontend}]
    tiers: [{role: store, model: qm9790, per: cluster}]
    subnet_manager: {nodes: compute, count: 1, routing_engine: updn, subnet_prefix: "0xfe80000000000001"}
"""
READ_BY_MANAGERS = KINDS | {"nccl", "subnet-topology"}
INFINIBAND = [check.name for check in CHECKS if check.name.startswith("ib-") and check.name not in {"ib-ipoib"}]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("planes"), "lab-ib", PLANES)


@pytest.fixture(scope="module")
def tree(plan: Plan) -> RenderedTree:
    return tree_of(plan.name, Rendering(plan).of_kinds(READ_BY_MANAGERS), Declaration(plan))


def changed(tree: RenderedTree, device: str, path: str, pattern: str, new: str) -> RenderedTree:
    """The tree with one place of a host's file changed; an empty ``pattern`` removes the file."""
    if not pattern:
        return replace(tree, files={place: file for place, file in tree.files.items() if place != (device, path)})
    before = tree.text(device, path) or ""
    after = re.sub(pattern, new, before, count=1, flags=re.M)
    assert after != before
    return edited(tree, [Artifact(device, path, after.encode(), tree.files[device, path].kind)], declaration=True)


def outcome(result: Verdict) -> str:
    if result.counterexamples:
        return "refuted"
    return "not proven" if result.unjudged else "proven"


def test_each_plane_is_a_subnet_with_a_prefix_and_managers_of_its_own(plan: Plan) -> None:
    assert list(plan.ib_subnets) == [f"backend.{rail}" for rail in range(8)]
    assert [subnet.prefix & 0xFFFF for subnet in plan.ib_subnets.values()] == list(range(8))
    for rail, (name, subnet) in enumerate(plan.ib_subnets.items()):
        assert {plan.by_name[switch].rail for switch in subnet.switches} == {rail}
        ports = [cable.a for cable in plan.cables if cable.a.guid in opensm.manager_guids(plan, name).values()]
        assert [port.port for port in ports] == [f"be{rail}"] * 2
    masters = [opensm.managers_by_priority(plan, name)[0] for name in plan.ib_subnets]
    assert len(set(masters)) == 2, "one host is not master of all"


def test_opensm_runs_in_two_planes_side_by_side(plan: Plan, tmp_path: Path) -> None:
    """Both see the ports of their plane alone, give their own prefix, and keep their LIDs apart."""
    with ExitStack() as stack:
        seen = {}
        for name in ("backend.0", "backend.3"):
            (tmp_path / name).mkdir()
            seen[name] = stack.enter_context(routed_subnet(plan, name, tmp_path / name))
        for name, running in seen.items():
            subnet = plan.ib_subnets[name]
            switches = {plan.by_name[switch].guid for switch in subnet.switches}
            cables = [cable for cable in plan.cables if cable.b.device in subnet.switches]
            adapters = {cable.a.guid for cable in cables if cable.a.guid is not None}
            assert set(running.lids) == switches | adapters
            assert "ftree tables configured on all switches" in running.log
            guid = min(guid for guid in adapters if guid not in opensm.manager_guids(plan, name).values())
            assert running.pkeys(running.lids[guid]) == [0x7FFF, 0x8001]
            port = running.run("smpquery", "portinfo", str(running.lids[guid]))
            assert re.search(rf"GidPrefix:\.*0x{subnet.prefix:016x}$", port, re.M), port


def test_instances_on_a_host_write_no_common_file(plan: Plan) -> None:
    host = opensm.manager_hosts(plan, "backend")[0]
    files = {artifact.path: artifact.content.decode() for artifact in opensm.render(plan, plan.by_name[host])}
    written: list[str] = []
    for name in plan.ib_subnets:
        options = dict(re.findall(r"^(\w+) (.+)$", files[f"etc/opensm/{name}/opensm.conf"], re.M))
        unit = files[f"etc/systemd/system/opensm@{name}.service"]
        cache = re.search(r"^Environment=OSM_CACHE_DIR=(\S+)$", unit, re.M)
        assert cache is not None
        written += [options["log_file"], options["dump_files_dir"], cache[1]]
        for folder, key in ((cache[1], "CacheDirectory"), (options["dump_files_dir"], "LogsDirectory")):
            below = re.search(rf"^{key}=(\S+)$", unit, re.M)
            assert below is not None
            assert folder.rstrip("/").endswith(f"/{below[1]}")
        assert options["root_guid_file"] == f"/etc/opensm/{name}/root_guids.conf"
    assert len(set(written)) == 3 * 8


def test_every_claim_is_proven_for_every_plane(tree: RenderedTree) -> None:
    for name in INFINIBAND:
        result = verdict(name, tree)
        assert outcome(result) == "proven", (name, result.counterexamples[:1], result.unjudged)
    counts = [fact.name for fact in verdict("ib-rail-purity", tree).facts if fact.name.endswith("adapters on rails")]
    assert counts == [f"backend.{rail}: adapters on rails" for rail in range(8)]


CONFIG = "etc/opensm/backend.3/opensm.conf"
UNIT = "etc/systemd/system/opensm@backend.3.service"


@pytest.mark.parametrize(
    ("claim", "path", "pattern", "new"),
    [
        ("ib-managers", CONFIG, "0xfe80000000000003", "0xfe80000000000000"),
        ("ib-managers", CONFIG, "^guid .*", "guid 0x02c1a58000000004"),
        ("ib-managers", CONFIG, "^log_prefix .*\n", ""),
        ("ib-managers", CONFIG, "/backend.3/opensm.log", "/backend.2/opensm.log"),
        ("ib-managers", CONFIG, "/backend.3/partitions", "/backend.2/partitions"),
        ("ib-managers", CONFIG, "^sm_priority .*", "sm_priority 3"),
        ("ib-managers", UNIT, "OSM_CACHE_DIR=.*", "OSM_CACHE_DIR=/var/cache/opensm"),
        ("ib-managers", UNIT, "^Environment=.*\n", ""),
        ("ib-managers", UNIT, "^PartOf=.*\n", ""),
        ("ib-managers", UNIT, "-F /etc/opensm/backend.3", "-F /etc/opensm/backend.2"),
        ("ib-managers", UNIT, "", ""),
        ("ib-managers", "etc/systemd/system/opensm.service", "^Wants=opensm@backend.3.*\n", ""),
        ("ib-managers", "etc/systemd/system/opensm.service", "", ""),
        ("ib-managers", "etc/opensm/backend.3/root_guids.conf", "^0x.*\n", ""),
        ("ib-partitions", "etc/opensm/backend.3/partitions.conf", "^( +0x[0-9a-f]+)=full", r"\1=limited"),
        ("ib-topology", "etc/opensm/topology/backend.3.topo", "spine-06", "spine-05"),
    ],
)
def test_a_change_in_one_plane_refutes(tree: RenderedTree, claim: str, path: str, pattern: str, new: str) -> None:
    host = next(device for device in tree.devices_with(CONFIG))
    assert outcome(verdict(claim, changed(tree, host, path, pattern, new))) == "refuted"


def test_an_adapter_in_another_plane_refutes(plan: Plan, tree: RenderedTree) -> None:
    """An adapter of rail 1 on a leaf of plane 0, in the cabling of both of its managers."""
    path = "etc/opensm/backend.0/fabric.net"
    subject = tree
    for host in opensm.manager_hosts(plan, "backend"):
        subject = changed(subject, host, path, r'# "gpu-s00r01n0 be0"', '# "gpu-s00r01n0 be1"')
    assert outcome(verdict("ib-rail-purity", subject)) == "refuted"


def test_a_plane_without_managers_leaves_no_claim_proven(plan: Plan, tree: RenderedTree) -> None:
    lacking = {place: file for place, file in tree.files.items() if "backend.5" not in place[1]}
    subject = replace(tree, files=lacking)
    for name in INFINIBAND:
        if name not in {"ib-nccl", "ib-managers", "ib-topology"}:
            assert "backend.5" in verdict(name, subject).unjudged, name
    assert outcome(verdict("ib-managers", subject)) == "refuted"
    assert outcome(verdict("ib-topology", subject)) == "refuted"


@pytest.mark.parametrize("line", ["NCCL_CROSS_NIC=1", "NCCL_CROSS_NIC=2", "", "NCCL_CROSS_NIC=0\nNCCL_PXN_DISABLE=1"])
def test_nccl_that_crosses_planes_is_refuted(tree: RenderedTree, line: str) -> None:
    path = next(path for device, path in tree.files if path in {"etc/nccl.conf", "etc/nccl/nccl.conf"})
    host = next(iter(tree.devices_with(path)))
    assert outcome(verdict("ib-nccl", changed(tree, host, path, "^NCCL_CROSS_NIC=0$", line))) == "refuted"


def test_hosts_that_two_fabrics_name_manage_both(tmp_path: Path) -> None:
    """Only the first fabric had a manager, and every claim was proven of it alone."""
    assert not findings_of(tmp_path, TWO_FABRICS)
    two = build_plan(load_spec(tmp_path / "spec.yaml"))
    one, other = opensm.manager_hosts(two, "data")
    assert [subnet.name for subnet in opensm.subnets_managed(two, two.by_name[one])] == ["data", "files"]
    assert [subnet.name for subnet in opensm.subnets_managed(two, two.by_name[other])] == ["data"]
    tree = tree_of(two.name, Rendering(two).of_kinds(READ_BY_MANAGERS), Declaration(two))
    assert outcome(verdict("ib-managers", tree)) == "proven"
    without = replace(tree, files={place: file for place, file in tree.files.items() if "files" not in place[1]})
    assert outcome(verdict("ib-managers", without)) == "refuted"


def test_a_key_of_the_subnet_is_added_in_every_plane(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", KEY)
    host = opensm.manager_hosts(plan, "backend")[0]
    files = {artifact.path: artifact for artifact in Rendering(plan).of_device(host)}
    for name in plan.ib_subnets:
        assert files[f"etc/opensm/{name}/m-key"].mode == 0o600
        assert f"/run/opensm/{name}/opensm.conf" in files[f"etc/opensm/{name}/add-m-key.sh"].content.decode()
        unit = files[f"etc/systemd/system/opensm@{name}.service"].content.decode()
        assert f"RuntimeDirectory=opensm/{name}\n" in unit
        assert f"-F /run/opensm/{name}/opensm.conf\n" in unit
    tree = tree_of(plan.name, Rendering(plan).of_kinds(READ_BY_MANAGERS), Declaration(plan))
    assert outcome(verdict("ib-managers", tree)) == "proven"


def test_scans_of_all_planes_are_the_plan(plan: Plan) -> None:
    scans = [parse(fabric_file(plan, name).text, name) for name in plan.ib_subnets]
    assert not compare(plan, "backend", scans, rates=False)
    assert compare(plan, "backend", scans[1:], rates=False)


def test_acceptance_looks_at_every_plane(plan: Plan) -> None:
    unit = next(unit for unit in unit_of(plan, "s00") if unit.fabric.name == "backend")
    cabling = next(iter(first_steps(plan, unit, AcceptanceLimits())))
    scans = [command.line for command in cabling.commands if command.line.startswith("ibnetdiscover")]
    assert len(scans) == 8
    assert all(f"/etc/opensm/backend.{rail}/" in line for rail, line in enumerate(scans))
    assert len({re.findall(r"--Ca (\S+)", line)[0] for line in scans}) == 8


def test_a_lost_partition_of_a_plane_ends_connections() -> None:
    path = "etc/opensm/backend.2/partitions.conf"
    before, after = b"training=0x0001 : 0x1=full, 0x2=full;\n", b"training=0x0001 : 0x1=full;\n"
    (lost,) = on_node(path, before, after)
    (given,) = on_node(path, after, before)
    assert "connections in these partitions end" in lost.does
    assert "end" not in given.does
