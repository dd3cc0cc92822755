"""Addresses and AS numbers that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.mistakes import IB, ROCE, Mistake, fabric, is_refused, named, tier

MISTAKES = [
    # addresses, AS numbers
    Mistake(
        "CW301",
        IB,
        fabric("backend", "classes: [{name: rdma, dscp: [26], queue: 3, weight: 1}]"),
        "fabrics[backend].classes[rdma].dscp",
        "no DSCP",
    ),
    Mistake(
        "CW301",
        ROCE,
        fabric("frontend", "partitions: [{name: all, pkey: 1, zones: [], membership: full}]"),
        "fabrics[frontend].partitions",
        "only InfiniBand",
    ),
    Mistake(
        "CW301",
        IB,
        tier("backend", "role: spine, asn: {base: 64512, per: tier}"),
        "fabrics[backend].tiers[spine].asn",
        "no BGP",
    ),
    Mistake(
        "CW302",
        ROCE,
        fabric("management", "addressing: {hosts: 10.99.254.0/23}"),
        "fabrics[management].addressing.",
        "shares addresses",
    ),
    Mistake(
        "CW302",
        ROCE,
        fabric("backend", "addressing: {hosts: 'fd00:1ab:b::/48'}"),
        "fabrics[backend].addressing.",
        "shares addresses",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("management", "addressing: {loopbacks: 10.99.255.0/32}"),
        "fabrics[management].addressing.loopbacks",
        "1 switches, and loopbacks for 0",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("management", "addressing: {hosts_per_switch: 28}"),
        "fabrics[management].addressing.hosts_per_switch",
        "addresses for 13 in a /28",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("backend", "addressing: {links: 'fd00:1ab:b:fffe::/121'}"),
        "fabrics[backend].addressing.links",
        "72 links between switches, and prefixes for 6",
    ),
    Mistake(
        "CW303",
        ROCE,
        fabric("backend", "addressing: {hosts_per_switch: 40}"),
        "fabrics[backend].addressing.hosts",
        "subnets of /40 for 0",
    ),
    Mistake(
        "CW304",
        ROCE,
        tier("frontend", "role: ssw, asn: {base: 4200200005}"),
        "fabrics[frontend].tiers[ssw].asn.base",
        "rsw takes 4200200000 to 4200200005",
    ),
    Mistake(
        "CW305",
        ROCE,
        tier("frontend", "role: ssw, asn: {base: 65000001}"),
        "fabrics[frontend].tiers[ssw].asn.base",
        "65000001",
    ),
    Mistake(
        "CW322", "lab-nvue", fabric("frontend", "mtu: 9217"), "fabrics[frontend].mtu", "NVUE has an MTU of 552 to 9216"
    ),
    Mistake(
        "CW306",
        IB,
        fabric("frontend", "addressing: {hosts_per_switch: 64}"),
        "fabrics[frontend].addressing.hosts_per_switch",
        "no IPv4 subnet",
    ),
    Mistake("CW308", ROCE, fabric("frontend", "mtu: 1000"), "fabrics[frontend].mtu", "1280 of IPv6"),
    Mistake("CW308", IB, fabric("backend", "mtu: 4092"), "fabrics[backend].mtu", "no MTU of 4092"),
    Mistake(
        "CW309",
        ROCE,
        tier("backend", "role: ctsw, asn: {per: tier}"),
        "fabrics[backend].tiers[ctsw].asn.per",
        "4 ctsw switches share",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=named)
def test_a_mistake_is_refused_where_it_was_made(mistake: Mistake, tmp_path: Path) -> None:
    is_refused(mistake, tmp_path)
