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
    listed = Counter((interface.device, interface.name) for interface in inventory.interfaces())
    assert set(listed.values()) == {1}
    ends = {(end.device, end.port) for cable in inventory.plan.cables for end in (cable.a, cable.b)}
    assert ends | {(address["device"], address["port"]) for address in inventory.addresses()} <= set(listed)


@pytest.mark.parametrize("name", LABS)
def test_used_and_unused_ports_are_all_that_switches_have(name: str) -> None:
    plan = plan_of(name)
    cabled = {(end.device, end.port) for cable in plan.cables for end in (cable.a, cable.b)}
    for interface in Inventory(plan).interfaces():
        assert ((interface.device, interface.name) in cabled) == (
            interface.properties.role in {"host", "down", "up", "management"}
        )
        assert interface.properties.role != "unused" or not interface.properties.in_service
        assert interface.properties.kind == "virtual" or interface.properties.speed_gbps


def test_a_switch_has_a_port_for_each_cage_and_each_leg() -> None:
    plan = plan_of("lab-roce")
    (switch,) = (device for device in plan.devices if device.name == "rtsw-p00r00")
    model = plan.spec.catalogue[switch.model]
    cages = {cage for block in model.blocks for cage in block.cages}
    listed = [
        interface
        for interface in Inventory(plan).interfaces()
        if interface.device == switch.name and interface.properties.connector
    ]
    ports = {port for block in model.blocks for mode in block.modes for c in block.cages for port in mode.ports(c)}
    assert {each.properties.breakout or each.name for each in listed} <= cages | ports
    assert any(each.properties.role == "unused" for each in listed)


def test_addresses_lie_in_pools_of_their_fabric() -> None:
    inventory = Inventory(plan_of("lab-roce"))
    pools = [(each["fabric"], ip_network(each["prefix"])) for each in inventory.subnets() if each["device"] is None]
    assert {fabric for fabric, _ in pools} == {each["name"] for each in inventory.vrfs()}
    for address in inventory.addresses():
        assert any(fabric == address["fabric"] and ip_address(address["address"]) in pool for fabric, pool in pools)


def test_as_numbers_and_racks_count_every_device() -> None:
    inventory = Inventory(plan_of("lab-roce"))
    speakers = [device for device in inventory.devices() if device["asn"]]
    assert sum(each["switches"] for each in inventory.asns()) == len(speakers)
    assert sum(rack["devices"] for rack in inventory.racks()) == sum(
        bool(device["rack"]) for device in inventory.devices()
    )
    assert all(0 < rack["used_units"] <= rack["height_units"] for rack in inventory.racks())


def test_the_bill_of_materials_counts_optics_by_cage() -> None:
    plan = plan_of("lab-roce")
    found = {(material.item, material.medium, material.speed_gbps): 0 for material in Inventory(plan).materials()}
    for material in Inventory(plan).materials():
        found[material.item, material.medium, material.speed_gbps] += material.quantity
    assert found["device", None, None] == len(plan.devices)
    fibre = Counter(cable.speed_gbps for cable in plan.cables if cable.medium == "mmf")
    assert found["optic", "mmf", 400] == 2 * fibre[400]
    # 24 ends, of which twelve are legs of six cages that break out
    assert (fibre[200], found["optic", "mmf", 200]) == (12, 18)


def test_a_transceiver_with_two_ports_is_one_optic() -> None:
    plan = plan_of("lab-ib")
    optics = sum(
        material.quantity
        for material in Inventory(plan).materials()
        if material.item == "optic" and material.speed_gbps == 400
    )
    fibres = [cable for cable in plan.cables if cable.medium == "mmf" and cable.fabric == "backend"]
    cages = {(end.device, end.port.partition("/")[0]) for cable in fibres for end in (cable.a, cable.b)}
    frontend = [cable for cable in plan.cables if cable.fabric == "frontend" and cable.speed_gbps == 400]

    assert len(cages) == len(fibres)
    assert optics == len(cages) + 2 * len(frontend)


@pytest.mark.parametrize(("name", "figure", "published"), [("rsc-phase1", "tf32-sparse", 1895), ("rsc", "bf16", 5000)])
def test_published_peaks_are_met(name: str, figure: str, published: float) -> None:
    assert figures(plan_of(name))[f"peak_petaflops.{figure}"] == pytest.approx(published, rel=0.002)
