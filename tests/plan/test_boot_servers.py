"""Boot servers of racks while one of them is away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.cli.trees import tree_of_plan
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import relay_targets, server_addresses, servers_by_rack
from clusterwright.plan.model import Plan, format_address
from clusterwright.proofs.operation.boot import NETWORK_BOOT

SERVERS = ("svc-v00n0", "svc-v00n1")


def plan_without(folder: Path, state: str, *names: str) -> Plan:
    exceptions = "".join(f"  - {{device: {name}, state: {state}, reason: its board}}\n" for name in names)
    return plan_with(folder, "lab-ib", f"exceptions:\n{exceptions}")


@pytest.mark.parametrize(("gone", "left"), [SERVERS, SERVERS[::-1]])
def test_nodes_boot_from_the_server_that_is_there(tmp_path: Path, gone: str, left: str) -> None:
    plan = plan_without(tmp_path, "out-of-service", gone)
    assert set(servers_by_rack(plan).values()) == {(left,)}
    assert set(relay_targets(plan).values()) == {server_addresses(plan)[left]}
    target = format_address(server_addresses(plan)[left], 4)
    (relays,) = {switch for switch in relay_targets(plan) if switch == "rsw-00"}
    assert target in b"".join(file.content for file in Rendering(plan).of_device(relays)).decode()


def test_a_server_that_no_rack_boots_from_is_no_fault(tmp_path: Path) -> None:
    tree = tree_of_plan(plan_without(tmp_path, "out-of-service", SERVERS[0]), [NETWORK_BOOT])
    assert NETWORK_BOOT.run(tree).is_proven
    without_leases = {place: file for place, file in tree.files.items() if "etc/kea/" not in file.path}
    assert NETWORK_BOOT.run(replace(tree, files=without_leases)).is_refuted


def test_racks_whose_first_server_is_there_keep_it(tmp_path: Path) -> None:
    before = servers_by_rack(plan_of("lab-ib"))
    after = servers_by_rack(plan_without(tmp_path, "out-of-service", SERVERS[1]))
    kept = [rack for rack, servers in before.items() if servers[0] == SERVERS[0]]
    assert kept
    assert [after[rack][0] for rack in kept] == [SERVERS[0]] * len(kept)


@pytest.mark.parametrize(("state", "names"), [("drained", SERVERS[1:]), ("out-of-service", SERVERS)])
def test_a_drained_server_serves_on_and_so_does_the_plan_of_a_service_without_any(
    tmp_path: Path, state: str, names: tuple[str, ...]
) -> None:
    assert servers_by_rack(plan_without(tmp_path, state, *names)) == servers_by_rack(plan_of("lab-ib"))
