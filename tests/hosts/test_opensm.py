"""A real subnet manager, with exactly the files we render, routes exactly the fabric we planned."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from tests.hosts.nccl_reader import read_parameters
from tests.hosts.nccl_start import PARTS, SCRIPT, made, place, start
from tests.hosts.routes import Cabling, cabling_of, trace, uplink_loads
from tests.hosts.subnet import Subnet, routed_subnet
from tests.plans import plan_of

from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.output.rendering import Rendering
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Plan, fabric_of


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
        wanted = (*PARTS, SCRIPT)
        own = Rendering(plan).of_device("gpu-s01r01n1")
        texts = {each.path: each.content.decode() for each in own if each.path in wanted}
        keys = [subnet.pkeys(subnet.lids[guid]) for guid in nics[-8:]]
        devices = read_parameters(texts[PARTS[0]])["NCCL_IB_HCA"][1:].split(",")
        place(texts, dict(zip(devices, keys, strict=True)), tmp_path)
        assert start(texts, tmp_path).returncode == 0
        assert made(tmp_path)["NCCL_IB_PKEY"] == "1"
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
        cabling, draw = cabling_of(plan, "backend"), random.Random(name)
        _check_tables(subnet, cabling, draw)
        adapters = sorted(cabling.adapters)
        lengths = set()
        for source, target in (draw.sample(adapters, 2) for _ in range(24)):
            ranks = trace(subnet, cabling, source, target)
            top = max(ranks)
            assert ranks == [*range(top), *range(top, -1, -1)]
            lengths.add(len(ranks))
        assert max(lengths) == 2 * max(cabling.ranks.values()) + 1
        for guid, keys in _sampled_pkeys(plan, draw):
            assert subnet.pkeys(subnet.lids[guid]) == keys


def _check_tables(subnet: Subnet, cabling: Cabling, draw: random.Random) -> None:
    """From each of two leaves up to a root: what the chips forward where, and how evenly.

    A chip's table has a port for every adapter, but packets come to it for those alone that the chip below sends its
    way: they are what is counted. No uplink gets more of them than another: ftree takes the uplinks in turn, and in
    both fabrics the adapters that are not below a chip are a multiple of its uplinks.
    """
    for leaf in draw.sample(sorted(chip for chip, rank in cabling.ranks.items() if rank == 0), 2):
        chip, carried = leaf, set(cabling.adapters)
        while True:
            table = subnet.forwarding(chip)
            ports = {adapter: table[subnet.lids[adapter]] for adapter in cabling.adapters}
            loads = uplink_loads(cabling, ports, chip, carried)
            if not loads:
                break
            assert max(loads.values()) == min(loads.values())
            up = draw.choice(sorted(loads))
            carried = {adapter for adapter in carried if ports[adapter] == up}
            chip, _ = cabling.ends[chip, up]
        assert cabling.ranks[chip] == max(cabling.ranks.values())


def _sampled_pkeys(plan: Plan, draw: random.Random) -> list[tuple[int, list[int]]]:
    """Six adapters, the first manager's own among them, and the P_Keys that the spec's partitions give them."""
    fabric = fabric_of(plan, "backend")
    manager = next(
        cable.a for cable in plan.cables_of[opensm.manager_hosts(plan, "backend")[0]] if cable.a.guid is not None
    )
    nics = [cable.a for cable in plan.cables if cable.fabric == "backend" and cable.a.guid is not None]
    found = []
    for nic in [manager, *draw.sample([nic for nic in nics if nic.device != manager.device], 5)]:
        group = next(each for each in plan.spec.node_groups if each.name == plan.by_name[nic.device].node_group)
        zones = {group.zone} | {zone.name for zone in plan.spec.zones if group.name in zone.nodes}
        keys = [0xFFFF if nic == manager else 0x7FFF]
        for partition in sorted(fabric.partitions, key=lambda each: each.pkey):
            memberships = {partition.membership_of(zone) for zone in partition.zones if zone in zones}
            if memberships:
                keys.append(partition.pkey | (0x8000 if "full" in memberships else 0))
        assert nic.guid is not None
        found.append((nic.guid, keys))
    return found


def test_managers_stand_in_different_units() -> None:
    plan = plan_of("lab-ib")
    hosts = opensm.manager_hosts(plan, "backend")
    assert len({plan.by_name[host].pod for host in hosts}) == len(hosts) == 2
