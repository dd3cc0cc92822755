"""Addresses as text: the C library's, which must be that of ``ipaddress``."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.model import format_address


@given(st.integers(0, 2**32 - 1))
def test_version_4(value: int) -> None:
    assert format_address(value, 4) == str(IPv4Address(value))


@given(st.lists(st.sampled_from([0, 0, 1, 0xA00, 0xFFFF]), min_size=8, max_size=8))
def test_version_6_with_runs_of_zeros_and_with_an_address_of_version_4_inside(groups: list[int]) -> None:
    value = sum(group << 16 * index for index, group in enumerate(groups))
    assert format_address(value, 6) == str(IPv6Address(value))
