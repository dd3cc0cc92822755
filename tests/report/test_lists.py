"""The inventory's lists agree with each other and with the plan: interfaces, pools, AS numbers, racks, materials."""

from __future__ import annotations

from collections import Counter
from ipaddress import ip_address, ip_network

import pytest
from tests.report.specs import plan_of

from clusterwright.lists.records import Inventory
from clusterwright.report.figures import figures

LABS = ("lab-roce", "lab-ib", "lab-sonic", "lab-nvue", "lab-border")


@pytest.mark.parametrize("name", LABS)
def test_every_cable_and_address_is_on_an_interface_that_is_listed_once(name: str) -> None:
    inventory = Inventory(plan_of(name))
    listed = Counter((each.device, each.name) for each in inventory.interfaces())
    assert set(listed.values()) == {1}
    ends = {(end.device, end.port) for cable in inventory.plan.cables for end in (cable.a, cable.b)}
    assert ends | {(each["device"], each["port"]) for each in inventory.addresses()} <= set(listed)


@pytest.mark.parametrize("name", LABS)
def test_used_and_unused_ports_are_all_that_switches_have(name: str) -> None:
    plan = plan_of(name)
    cabled = {(end.device, end.port) for cable in plan.cables for end in (cable.a, cable.b)}
    for each in Inventory(plan).interfaces():
        assert ((each.device, each.name) in cabled) == (each.properties.role in {"host", "down", "up", "management"})
        assert each.properties.role != "unused" or not each.properties.in_service
        assert each.properties.kind == "virtual" or each.properties.speed_gbps


def test_a_switch_has_a_port_for_each_cage_and_each_leg() -> None:
    plan = plan_of("lab-roce")
    (switch,) = (each for each in plan.devices if each.name == "rtsw-p00r00")
    model = plan.spec.catalogue[switch.model]
    cages = {cage for block in model.blocks for cage in block.cages}
    listed = [each for each in Inventory(plan).interfaces() if each.device == switch.name and each.properties.connector]
    ports = {port for block in model.blocks for mode in block.modes for c in block.cages for port in mode.ports(c)}
    assert {each.properties.breakout or each.name for each in listed} <= cages | ports
    assert any(each.properties.role == "unused" for each in listed)


def test_addresses_lie_in_pools_of_their_fabric() -> None:
    inventory = Inventory(plan_of("lab-roce"))
    pools = [(each["fabric"], ip_network(each["prefix"])) for each in inventory.subnets() if each["device"] is None]
    assert {fabric for fabric, _ in pools} == {each["name"] for each in inventory.vrfs()}
    for each in inventory.addresses():
        assert any(fabric == each["fabric"] and ip_address(each["address"]) in pool for fabric, pool in pools)


def test_as_numbers_and_racks_count_every_device() -> None:
    inventory = Inventory(plan_of("lab-roce"))
    speakers = [each for each in inventory.devices() if each["asn"]]
    assert sum(each["switches"] for each in inventory.asns()) == len(speakers)
    assert sum(each["devices"] for each in inventory.racks()) == sum(bool(each["rack"]) for each in inventory.devices())
    assert all(0 < each["used_units"] <= each["height_units"] for each in inventory.racks())


def test_the_bill_of_materials_counts_optics_by_cage() -> None:
    plan = plan_of("lab-roce")
    found = {(each.item, each.medium, each.speed_gbps): 0 for each in Inventory(plan).materials()}
    for each in Inventory(plan).materials():
        found[each.item, each.medium, each.speed_gbps] += each.quantity
    assert found["device", None, None] == len(plan.devices)
    fibre = Counter(cable.speed_gbps for cable in plan.cables if cable.medium == "mmf")
    assert found["optic", "mmf", 400] == 2 * fibre[400]
    # 24 ends, of which twelve are legs of six cages that break out
    assert (fibre[200], found["optic", "mmf", 200]) == (12, 18)


def test_a_transceiver_with_two_ports_is_one_optic() -> None:
    plan = plan_of("lab-ib")
    optics = sum(
        each.quantity for each in Inventory(plan).materials() if each.item == "optic" and each.speed_gbps == 400
    )
    fibres = [cable for cable in plan.cables if cable.medium == "mmf" and cable.fabric == "backend"]
    cages = {(end.device, end.port.partition("/")[0]) for cable in fibres for end in (cable.a, cable.b)}
    frontend = [cable for cable in plan.cables if cable.fabric == "frontend" and cable.speed_gbps == 400]

    assert len(cages) == len(fibres)
    assert optics == len(cages) + 2 * len(frontend)


@pytest.mark.parametrize(("name", "figure", "published"), [("rsc-phase1", "tf32-sparse", 1895), ("rsc", "bf16", 5000)])
def test_published_peaks_are_met(name: str, figure: str, published: float) -> None:
    assert figures(plan_of(name))[f"peak_petaflops.{figure}"] == pytest.approx(published, rel=0.002)
