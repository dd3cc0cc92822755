"""Addresses that are never a source, and prefixes that take in the internet in however many parts."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from clusterwright.spec.address_space import LINK_LOCAL_IPV4, dropped_sources, takes_in_internet

EVERY_OTHER = [f"{first}.0.0.0/8" for first in range(11, 223, 2)]
HALVES = [f"{first}.{half}.0.0/9" for first in (20, 22) for half in (0, 128)]


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        (["9.0.0.0/8"], False),
        (["9.0.0.0/8", "17.0.0.0/9", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"], False),
        (["8.0.0.0/8", "9.0.0.0/8"], True),
        (EVERY_OTHER, True),
        (HALVES, True),
        (["8.0.0.0/8", "8.0.0.0/9", "8.1.0.0/16"], False),
        (["fc00::/7", "2001:db8::/32"], False),
        (["2000::/16", "2001::/16"], True),
        (["::/0"], True),
        (["0.0.0.0/0"], True),
    ],
)
def test_the_union_decides_and_private_addresses_do_not_count(prefixes: list[str], expected: bool) -> None:
    assert takes_in_internet(ip_network(text) for text in prefixes) is expected


def test_a_link_local_address_of_a_zone_is_not_dropped_and_its_neighbours_are() -> None:
    server = ip_network("169.254.169.254/32")
    dropped = dropped_sources([ip_network("10.0.0.0/8"), server])
    assert not any(network.overlaps(server) for network in dropped if network.version == 4)
    kept = sum(
        network.num_addresses for network in dropped if network.version == 4 and LINK_LOCAL_IPV4.overlaps(network)
    )
    assert kept == LINK_LOCAL_IPV4.num_addresses - 1


def test_without_link_local_zones_all_of_them_are_dropped() -> None:
    assert LINK_LOCAL_IPV4 in dropped_sources([])
    assert LINK_LOCAL_IPV4 not in dropped_sources([ip_network("169.254.0.0/16")])
