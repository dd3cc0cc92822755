"""The parts of a switch's view that no reference spec exercises: breakouts, disabled cages, colliding classes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.plans import plan_of

from clusterwright.intent.switch import in_port_order
from clusterwright.intent.traffic_classes import traffic_classes
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import fabric_of
from clusterwright.plan.ports import spare_ports


def test_a_cage_at_400g_hides_the_one_it_disables() -> None:
    model = plan_of("lab-roce").spec.catalogue["minipack2"]
    odd = model.blocks[0]
    spare = dict(spare_ports(model, {"eth2/1/1": odd.mode(400), "eth2/3/1": odd.mode(200)}))
    assert "eth2/2/1" not in spare
    assert "eth2/4/1" in spare
    assert not {"eth2/1/1", "eth2/3/1"} & set(spare)
    assert len(spare) == 128 - 3


def test_the_rest_of_a_broken_out_cage_is_spare() -> None:
    model = plan_of("lab-roce").spec.catalogue["dcs-7804r3"]
    spare = dict(spare_ports(model, {"Ethernet3/1/3": model.blocks[0].mode(100)}))
    assert [name for name in spare if name.startswith("Ethernet3/1/")] == [
        "Ethernet3/1/1",
        "Ethernet3/1/5",
        "Ethernet3/1/7",
    ]


def test_ports_are_listed_as_people_count() -> None:
    names = ["Ethernet10/1", "Ethernet2/10/1", "Ethernet2/9/1", "Ethernet2/9"]
    assert sorted(names, key=in_port_order) == ["Ethernet2/9", "Ethernet2/9/1", "Ethernet2/10/1", "Ethernet10/1"]


def test_every_dscp_has_a_class_and_no_unnamed_one_is_lossless() -> None:
    classes = traffic_classes(fabric_of(plan_of("lab-roce"), "backend"))
    assert sorted(dscp for item in classes for dscp in item.dscp) == list(range(64))
    lossless = [item for item in classes if item.entry.priority is not None]
    assert [item.dscp for item in lossless] == [(50, 51, 52, 53, 54, 55, 57, 58, 59)]


def test_a_lossless_class_keeps_its_priority_and_the_other_one_moves() -> None:
    fabric = fabric_of(plan_of("lab-roce"), "backend")
    default, rdma, *_ = fabric.classes
    fabric = replace(fabric, classes=(replace(default, queue=3), replace(rdma, priority=3, queue=5)))
    assert [(item.number, item.entry.name, item.entry.queue) for item in traffic_classes(fabric)] == [
        (0, "default", 3),
        (3, "rdma", 5),
    ]


@pytest.mark.parametrize("role", ["ctsw", "atsw", "ssw", "mgmt"])
def test_no_configuration_holds_a_secret_or_opens_a_clear_text_service(role: str) -> None:
    plan = plan_of("lab-roce")
    for device in plan.devices_of(role):
        (artifact,) = Rendering(plan).of_device(device.name)
        lines = {line.strip() for line in artifact.content.decode().splitlines()}
        assert not [line for line in lines if line.startswith(("enable", "telnet", "snmp-server community"))]
        openings = ("secret sha512 <secret netops-hash as sha512-crypt>", "ssh-key")
        assert all(any(each in line for each in openings) for line in lines if line.startswith("username"))
        assert all("<secret snmp-auth>" in line for line in lines if line.startswith("snmp-server user"))
        assert "protocol http" not in lines
        assert {"protocol https", "no protocol http"} <= lines


def test_unused_ports_are_shut() -> None:
    (artifact,) = Rendering(plan_of("lab-roce")).of_device("ctsw-p00-00")
    text = artifact.content.decode()
    assert text.count("   description unused\n   shutdown\n") == text.count("   description unused\n") == 126
