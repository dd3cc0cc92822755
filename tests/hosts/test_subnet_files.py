"""What a subnet manager is told beyond routing, judged by opensm, ibdmchk and the shell that run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.hosts.subnet import routed_subnet
from tests.hosts.subnet_specs import FREED_PORTS, ONE_DIRECTOR, ONE_UNIT, SHARED, WITH_UFM, variant, whole
from tests.plans import nccl_values, plan_of

from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.hosts.opensm.writer import subnet_topology
from clusterwright.hosts.ufm import writer as ufm
from clusterwright.intent.subnet_sizes import SubnetSizes
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan


def _guids(plan: Plan, node_group: str) -> list[int]:
    return [
        cable.a.guid
        for cable in plan.cables
        if cable.a.guid is not None and plan.by_name[cable.a.device].node_group == node_group
    ]


def _files(plan: Plan, host: str) -> dict[str, str]:
    return {artifact.path: artifact.content.decode("utf-8", "replace") for artifact in Rendering(plan).of_device(host)}


def _options(text: str) -> set[str]:
    return {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}


def test_lanes_shares_and_limited_members_are_as_the_spec_says(tmp_path: Path) -> None:
    plan = variant("lab-ib", SHARED, tmp_path)
    (tmp_path / "run").mkdir()
    with routed_subnet(plan, "backend", tmp_path / "run") as subnet:
        assert "ftree tables configured on all switches" in subnet.log
        assert "132 CAs, 132 CA ports (128 of them CNs)" in subnet.log
        assert "ERR" not in subnet.log.replace("no_fallback", "")
        compute, storage = _guids(plan, "compute")[-1], _guids(plan, "files")[0]
        assert subnet.pkeys(subnet.lids[compute]) == [0x7FFF, 0x8001, 0x0010]
        assert subnet.pkeys(subnet.lids[storage]) == [0x7FFF, 0x8010]
        lid = str(subnet.lids[compute])
        lanes = subnet.run("smpquery", "sl2vl", lid).splitlines()[-1]
        assert [int(lane) for lane in re.findall(r"\| *(\d+)", lanes)] == [0, 1, 2, *[0] * 13]
        shares = [
            [int(weight, 16) for weight in re.findall(r"0x([0-9A-Fa-f]+)", line)][:3]
            for line in subnet.run("smpquery", "vlarb", lid).splitlines()
            if line.startswith("WEIGHT")
        ]
        assert shares == [[16, 64, 0], [0, 0, 8]]
    index = nccl_values(plan)
    assert (index["NCCL_IB_SL"], index["NCCL_IB_ADAPTIVE_ROUTING"]) == ("1", "0")
    assert index["NCCL_IB_PKEY"] == "index of 0x8001"
    assert index["NCCL_COLLNET_ENABLE"] == "0"


@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        ("0x0c42a10300b2e41c\n", True),
        ("0x1", True),
        ("", False),
        ("0x0", False),
        ("0x", False),
        ("secret", False),
        ("0x0c42a10300b2e41c0", False),
        ("0x12 m_key_lookup FALSE", False),
        ("<secret fabric-key as m-key>\n", False),
    ],
)
def test_a_subnet_manager_starts_with_its_key_or_not_at_all(tmp_path: Path, key: str, accepted: bool) -> None:
    plan = variant("lab-ib", SHARED, tmp_path)
    host = opensm.manager_hosts(plan, "backend")[0]
    for artifact in Rendering(plan).of_device(host):
        if artifact.path.startswith("etc/opensm/"):
            (tmp_path / artifact.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / artifact.path).write_bytes(artifact.content)
            (tmp_path / artifact.path).chmod(artifact.mode)
    (tmp_path / "run").mkdir()
    placed = tmp_path / "etc/opensm/m-key"
    assert placed.read_text() == "<secret fabric-key as m-key>\n"
    assert placed.stat().st_mode & 0o777 == 0o600
    placed.write_text(key)
    script = (
        "mount -t tmpfs none /etc && mount -t tmpfs none /run && mkdir /etc/opensm /run/opensm && "
        f"mount --bind {tmp_path}/etc/opensm /etc/opensm && mount --bind {tmp_path}/run /run/opensm && "
        "exec /etc/opensm/add-m-key.sh"
    )
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
    config = tmp_path / "run" / "opensm.conf"
    assert (done.returncode == 0) == accepted, done.stderr
    if accepted:
        assert config.read_text().endswith(f"m_key {key.strip()}\n")
        assert config.stat().st_mode & 0o077 == 0
    else:
        assert not config.exists()
        assert "M_Key" in done.stderr
    unit = _files(plan, host)["etc/systemd/system/opensm.service"]
    assert "ExecStart=/usr/sbin/opensm -F /run/opensm/opensm.conf" in unit
    assert all("m_key 0x" not in text and "0c42a103" not in text for text in _files(plan, host).values())


def test_managers_take_the_ports_that_a_left_out_node_frees(tmp_path: Path) -> None:
    plan = whole(FREED_PORTS, tmp_path)
    managers = [cable for cable in plan.cables if plan.by_name[cable.a.device].node_group == "ufm"]
    assert sorted(cable.b.device for cable in managers) == [f"leaf-s03-{rail:02d}" for rail in range(8)]
    assert all(cable.a.rail == plan.by_name[cable.b.device].rail for cable in managers)
    for leaf in plan.devices_of("leaf"):
        assert sum(cable.b.device == leaf.name for cable in plan.cables_of[leaf.name]) == 32
        assert len(plan.cables_of[leaf.name]) == 64


def test_ufm_is_a_target_of_its_own(tmp_path: Path) -> None:
    plan = whole(FREED_PORTS, tmp_path)
    files = _files(plan, opensm.manager_hosts(plan, "backend")[0])
    assert "etc/opensm/opensm.conf" not in files
    assert "etc/systemd/system/opensm.service" not in files
    assert "routing_engine ar_updn\n" in files["opt/ufm/files/conf/opensm/opensm.conf"]
    assert "sharp_enabled 2\n" in files["opt/ufm/files/conf/opensm/opensm.conf"]
    assert "sharp_enabled = true\n" in files["opt/ufm/files/conf/gv.cfg"]
    assert "max_trees_to_build 16\n" in files["opt/ufm/files/conf/sharp/sharp_am.cfg"]
    assert "tree_radix 64\n" in files["opt/ufm/files/conf/sharp/sharp_am.cfg"]


def test_nccl_relies_on_switches_only_where_they_are_told_to(tmp_path: Path) -> None:
    names = ("NCCL_IB_ADAPTIVE_ROUTING", "NCCL_COLLNET_ENABLE")
    told = nccl_values(variant("lab-ib", WITH_UFM, tmp_path))
    bare = nccl_values(plan_of("lab-ib"))
    assert [told.get(name) for name in names] == ["1", "1"]
    assert [bare.get(name) for name in names] == ["0", "0"]


def test_no_option_of_nvidias_subnet_manager_reaches_the_open_one(tmp_path: Path) -> None:
    defaults = tmp_path / "defaults"
    subprocess.run(["opensm", "-c", str(defaults)], check=True, capture_output=True)
    upstream = _options(defaults.read_text())
    nvidia = variant("lab-ib", WITH_UFM, tmp_path)
    theirs = _options(
        _files(nvidia, opensm.manager_hosts(nvidia, "backend")[0])["opt/ufm/files/conf/opensm/opensm.conf"]
    )
    assert theirs - upstream == {"ar_sl_mask", "sharp_enabled", "max_wire_smps_per_device"}
    for plan in (plan_of("lab-ib"), variant("lab-ib", SHARED, tmp_path)):
        ours = _files(plan, opensm.manager_hosts(plan, "backend")[0])
        assert _options(ours["etc/opensm/opensm.conf"]) <= upstream
        assert not any(ufm.FOLDER in path for path in ours)


@pytest.mark.parametrize(("name", "adapters"), [("fixed switches", 128), ("a director", 320)])
def test_ibdm_reads_topology_and_netlists_and_finds_no_credit_loop(tmp_path: Path, name: str, adapters: int) -> None:
    assert shutil.which("ibdmchk"), "ibdmchk is missing: apt-get install ibutils"
    plan = plan_of("lab-ib") if name == "fixed switches" else whole(ONE_DIRECTOR, tmp_path)
    host = opensm.manager_hosts(plan, "backend")[0]
    for artifact in subnet_topology.render(plan, plan.by_name[host]):
        (tmp_path / Path(artifact.path).name).write_bytes(artifact.content)
    done = subprocess.run(
        ["ibdmchk", "-t", "backend.topo", "-n", f"{host}/be0", "-p", "1"],
        cwd=tmp_path,
        env={**os.environ, "IBDM_IBNL_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "-E-" not in done.stdout, done.stdout
    assert f"Scanned:{adapters * (adapters - 1)} CA to CA paths" in done.stdout
    assert "no credit loops found" in done.stdout


def test_one_scalable_unit_of_the_large_build_is_routed(tmp_path: Path) -> None:
    plan = variant("ib-24k", ONE_UNIT, tmp_path)
    (tmp_path / "run").mkdir()
    with routed_subnet(plan, "backend", tmp_path / "run", seconds=120) as subnet:
        assert "ftree tables configured on all switches" in subnet.log
        assert set(_guids(plan, "compute")) <= set(subnet.lids)


def test_sizes_grow_with_the_fabric() -> None:
    small, large = SubnetSizes(20, 128), SubnetSizes(1920, 24576)
    assert (small.packets, small.sweep_interval_s, small.log_mb) == (8, 10, 64)
    assert (large.packets, large.sweep_interval_s, large.log_mb) == (60, 10, 230)
    assert SubnetSizes(8000, 40000).sweep_interval_s == 25
