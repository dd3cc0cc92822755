"""Ports that are one link in what others read: the link is an interface, and has the address."""

from __future__ import annotations

from tests.platforms.plans import plan_of

from clusterwright.plan.own_addresses import own_addresses
from clusterwright.report.lists.interfaces import interfaces
from clusterwright.source_of_truth.words import interface_type

NODE = "vis-p00r00n0"


def test_the_link_is_an_interface_and_every_address_lies_on_one() -> None:
    plan = plan_of("lab-tenants")
    listed = [each for each in interfaces(plan, (plan.by_name[NODE],)) if each.fabric == "frontend"]
    assert [(each.name, each.kind) for each in listed] == [("fe0", "physical"), ("fe1", "physical"), ("bond0", "lag")]
    model = plan.spec.catalogue[plan.by_name[NODE].model]
    assert interface_type(listed[-1], model, by_lanes=False) == "lag"
    every = {(each.device, each.name) for each in interfaces(plan, plan.devices)}
    assert {(own.device, own.port) for own in own_addresses(plan)} <= every
