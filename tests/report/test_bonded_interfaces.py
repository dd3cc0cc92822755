"""Ports that are one link in what others read: the link is an interface, and has the address."""

from __future__ import annotations

import re

import pytest
from tests.plans import plan_of
from tests.switches.bonded import RACK, RACK_SWITCHES, bonded

from clusterwright.extras.source_of_truth.words import interface_type
from clusterwright.lists.interfaces import interfaces
from clusterwright.output.rendering import Rendering
from clusterwright.plan.own_addresses import own_addresses
from clusterwright.proofs.registry import CHECKS

KINDS = frozenset(kind for check in CHECKS for kind in check.kinds)
NODE = "vis-p00r00n0"


def test_the_link_is_an_interface_and_every_address_lies_on_one() -> None:
    plan = plan_of("lab-tenants")
    listed = [
        interface for interface in interfaces(plan, (plan.by_name[NODE],)) if interface.properties.fabric == "frontend"
    ]
    assert [(each.name, each.properties.kind) for each in listed] == [
        ("fe0", "physical"),
        ("fe1", "physical"),
        ("bond0", "lag"),
    ]
    model = plan.spec.catalogue[plan.by_name[NODE].model]
    assert interface_type(listed[-1], model, by_lanes=False) == "lag"
    every = {(interface.device, interface.name) for interface in interfaces(plan, plan.devices)}
    assert {(own.device, own.port) for own in own_addresses(plan)} <= every


@pytest.mark.parametrize("system", RACK_SWITCHES)
def test_both_ends_know_the_link_by_the_name_that_is_rendered(system: str) -> None:
    plan = bonded(system)
    listed = {(interface.device, interface.name): interface for interface in interfaces(plan, plan.devices)}
    for cable in plan.cables:
        for end in (cable.a, cable.b) if cable.bond is not None else ():
            link = listed[end.device, listed[end.device, end.port].properties.lag or ""]
            properties = link.properties
            assert (properties.kind, properties.fabric, properties.role) == ("lag", end.fabric, end.side)
    own = {each.name for each in listed.values() if each.device == RACK and each.properties.kind == "lag"}
    texts = [artifact.content.decode() for artifact in Rendering(plan).of_kinds(KINDS) if artifact.device == RACK]
    assert own
    assert all(any(re.search(rf"\b{name}\b", text) for text in texts) for name in own), own
