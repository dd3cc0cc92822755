"""A real subnet manager, with exactly the files we render, routes exactly the fabric we planned."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.render.plans import plan_of
from tests.render.subnet import routed_subnet

from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Plan
from clusterwright.render import nccl, opensm, opensm_partitions


def _expected_ports(plan: Plan) -> set[int]:
    guids = {cable.a.guid for cable in plan.cables if cable.fabric == "backend" and cable.a.guid is not None}
    for device in plan.devices:
        if device.kind == "switch" and device.fabric == "backend":
            guids |= {chip.guid for chip in chips_of(plan, device)}
    return guids


def test_opensm_routes_the_lab_with_our_files(tmp_path: Path) -> None:
    plan = plan_of("lab-ib")
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        assert "ftree tables configured on all switches" in subnet.log
        assert "minhop" not in subnet.log
        assert set(subnet.lids) == _expected_ports(plan)
        assert len(set(subnet.lids.values())) == len(subnet.lids)
        managers = {
            next(cable.a.guid for cable in plan.cables_of[host] if cable.a.guid is not None)
            for host in opensm.manager_hosts(plan, "backend")
        }
        nics = [cable.a.guid for cable in plan.cables if cable.fabric == "backend" and cable.a.guid is not None]
        for guid in nics:
            default = 0xFFFF if guid in managers else 0x7FFF
            assert subnet.pkeys(subnet.lids[guid]) == [default, 0x8001]
        index = opensm_partitions.partition_indexes(plan, "backend")["compute"]
        assert subnet.pkeys(subnet.lids[nics[-1]])[index] == 0x8001
        far = subnet.run("ibtracert", str(subnet.lids[nics[0]]), str(subnet.lids[nics[-8]]))
        assert far.count("switch port") == 3, far


def test_cables_come_up_where_they_were_planned(tmp_path: Path) -> None:
    plan = plan_of("lab-ib")
    cabled = {
        (cable.a.device, cable.b.device) for cable in plan.cables if cable.fabric == "backend" and cable.in_service
    }
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        names = tmp_path / "etc/opensm/ib-node-name-map"
        seen = subnet.run("ibnetdiscover", "-p", "--node-name-map", str(names))
    pairs = {
        tuple(match) for match in re.findall(r"^(?:CA|SW) .*\( '(\S+?)(?: be\d)?' - '(\S+?)(?: be\d)?' \)", seen, re.M)
    }
    assert {tuple(sorted(pair)) for pair in pairs} == {tuple(sorted(pair)) for pair in cabled}


def test_only_upstream_options_are_written(tmp_path: Path) -> None:
    defaults = tmp_path / "defaults"
    subprocess.run(["opensm", "-c", str(defaults)], check=True, capture_output=True)
    known = {line.split(" ")[0] for line in defaults.read_text().splitlines() if line and not line.startswith("#")}
    plan = plan_of("lab-ib")
    host = plan.by_name[opensm.manager_hosts(plan, "backend")[0]]
    text = next(a.content for a in opensm.render(plan, host) if a.path == "etc/opensm/opensm.conf").decode()
    written = {line.split(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
    assert "routing_engine" in written
    assert written <= known


@pytest.mark.parametrize("name", ["rsc-phase1", "ib-24k"])
def test_roots_are_the_highest_chips(name: str) -> None:
    plan = plan_of(name)
    roots = opensm.root_guids(plan, "backend")
    if name == "ib-24k":
        assert len(roots) == 384
    else:
        directors = plan.devices_of("director")
        chips = plan.spec.catalogue[directors[0].model].chips
        assert chips is not None
        assert len(roots) == len(directors) * chips.spines
    assert len(set(roots)) == len(roots)
    assert len(opensm.compute_guids(plan, "backend")) == sum(1 for d in plan.devices if d.rank is not None) * 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ib-24k", "rsc"])
def test_opensm_routes_a_reference_fabric_at_full_size(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    with routed_subnet(plan, "backend", tmp_path, seconds=800) as subnet:
        assert "ftree tables configured on all switches" in subnet.log
        assert set(subnet.lids) == _expected_ports(plan)


def test_managers_stand_in_different_units() -> None:
    plan = plan_of("lab-ib")
    hosts = opensm.manager_hosts(plan, "backend")
    assert len({plan.by_name[host].pod for host in hosts}) == len(hosts) == 2


def test_nccl_uses_the_partition_index() -> None:
    plan = plan_of("lab-ib")
    assert dict(nccl.variables(plan, "compute", ("mlx5_0",), ("fe0",), 8))["NCCL_IB_PKEY"] == "1"
