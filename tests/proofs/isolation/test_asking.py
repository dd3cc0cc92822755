"""What a machine without an address sends first: the lists of the switch that it boots through let it pass."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering
from clusterwright.packets.boxes import ICMP6, UDP, V4, V6, PacketSet, box
from clusterwright.packets.passage import passing
from clusterwright.packets.ranges import values
from clusterwright.plan.boot import relay_targets
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.declaration import declared_of
from clusterwright.proofs.isolation.edges import HOSTS, port_groups
from clusterwright.proofs.tree import tree_of
from clusterwright.switches.readers import READERS


def number(text: str) -> int:
    return int(ip_address(text))


FIRST = {
    "DHCP": box(
        family=V4,
        proto=values(UDP),
        src=values(number("0.0.0.0")),
        dst=values(number("255.255.255.255")),
        sport=values(68),
        dport=values(67),
        fragment=values(0),
    ),
    "DHCPv6": box(
        family=V6,
        proto=values(UDP),
        src=values(number("fe80::1")),
        dst=values(number("ff02::1:2")),
        sport=values(546),
        dport=values(547),
        fragment=values(0),
    ),
    "router solicitation": box(
        family=V6,
        proto=values(ICMP6),
        src=values(number("fe80::1")),
        dst=values(number("ff02::2")),
        icmp=values(133),
        fragment=values(0),
    ),
}


def let_in(plan: Plan) -> dict[str, set[str]]:
    """By what is asked with, the switches whose host ports let it in."""
    kinds = frozenset().union(*(reader.kinds for reader in READERS))
    tree = tree_of(plan.name, Rendering(plan).of_kinds(kinds), Declaration(plan))
    found: dict[str, set[str]] = {name: set() for name in FIRST}
    for group in port_groups(tree, declared_of(plan)):
        for each in group.filters() if group.kind == HOSTS else ():
            for name, packet in FIRST.items():
                if passing(each.ruleset, each.direction, PacketSet((packet,))).packets:
                    found[name].add(each.device)
    return found


@pytest.mark.parametrize(
    ("spec", "version"), [("lab-roce", 6), ("lab-nvue", 6), ("lab-sonic", 6), ("lab-ib", 4), ("rsc-phase1", 4)]
)
def test_machines_that_boot_may_ask_and_nobody_else(spec: str, version: int) -> None:
    plan = plan_of(spec)
    relays, nobody = set(relay_targets(plan)), set[str]()
    assert relays
    wanted = {4: (relays, nobody, nobody), 6: (nobody, relays, relays)}[version]
    assert let_in(plan) == dict(zip(FIRST, wanted, strict=True))
