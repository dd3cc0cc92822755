"""Addresses of an Ethernet fabric, cut from its three pools.

Loopbacks are counted up per switch; every link between switches takes the next /127 (RFC 6164) or /31 (RFC 3021); every
switch with hosts gets one subnet, in which either each NIC has a link of its own or all share it behind a gateway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from clusterwright.spec.fabric import FabricAddressing
from clusterwright.spec.isolation import Network


class PoolExhausted(Exception):
    """A pool is too small. ``pool`` is its key in the spec, ``need`` and ``have`` count its parts."""

    def __init__(self, pool: str, need: int, have: int) -> None:
        super().__init__(f"{pool}: {need} needed, {have} to be had")
        self.pool = pool
        self.need = need
        self.have = have


@dataclass(frozen=True, slots=True)
class FabricAddresses:
    """Compute addresses as integers.

    ``bits`` is 32 or 128; ``sizes`` are the numbers of addresses in the pools of hosts, links and loopbacks, 0 without
    a pool.
    """

    addressing: FabricAddressing
    bits: int
    hosts_start: int
    links_start: int
    loopbacks_start: int
    sizes: tuple[int, int, int]

    @property
    def subnet_bits(self) -> int:
        """How many bits of an address count within a host subnet."""
        return self.bits - self.addressing.hosts_per_switch

    def loopback(self, index: int) -> int | None:
        """The address of the index-th switch; the pool's first address is left out. None without a pool."""
        return None if self.addressing.loopbacks is None else self.loopbacks_start + 1 + index

    def link(self, index: int) -> tuple[int, int]:
        """Lower and upper end of the index-th link between switches.

        The pool's first pair is left out: its zero address is the subnet-router anycast address of RFC 4291.
        """
        first = self.links_start + 2 * (index + 1)
        return first, first + 1

    def host_subnet(self, index: int) -> int:
        """Network address of the index-th switch's host subnet."""
        return self.hosts_start + (index << self.subnet_bits)

    def gateway(self, subnet: int) -> int | None:
        """The switch's address in a shared subnet; None if every NIC has its own link."""
        return subnet + 1 if self.addressing.host_links == "shared" else None

    def host(self, subnet: int, index: int) -> tuple[int, int | None]:
        """Address of the index-th NIC of a switch, and of the switch's end (None when shared)."""
        if self.addressing.host_links == "shared":
            return subnet + 2 + index, None
        return subnet + 2 * index + 3, subnet + 2 * index + 2

    def loopback_number(self, address: int) -> int:
        """Index of an address in the loopback pool; negative outside the pool."""
        number = address - self.loopbacks_start
        return number - 1 if number < self.sizes[2] else -1

    def link_number(self, address: int) -> int:
        """Index of the link with this lower address; negative for any other address."""
        number, odd = divmod(address - self.links_start, 2)
        return -1 if odd or 2 * number >= self.sizes[1] else number - 1

    def subnet_number(self, network: int) -> int:
        """Index of the host subnet with this first address; negative for any other address."""
        number, rest = divmod(network - self.hosts_start, 1 << self.subnet_bits)
        return -1 if rest or network - self.hosts_start >= self.sizes[0] else number

    def host_number(self, subnet: int, address: int) -> int:
        """Index of a NIC's address in a subnet; negative for any other address."""
        if not 0 <= address - subnet < 1 << self.subnet_bits:
            return -1
        if self.addressing.host_links == "shared":
            return address - subnet - 2
        number, odd = divmod(address - subnet - 3, 2)
        return -1 if odd else number

    @property
    def link_length(self) -> int:
        """Prefix length of a link between two interfaces."""
        return self.bits - 1

    @property
    def host_length(self) -> int:
        """Prefix length on a NIC."""
        return self.addressing.hosts_per_switch if self.addressing.host_links == "shared" else self.bits - 1


def fabric_addresses(addressing: FabricAddressing) -> FabricAddresses:
    """Prepare a fabric's pools for cutting."""
    return FabricAddresses(
        addressing=addressing,
        bits=addressing.hosts.max_prefixlen,
        hosts_start=int(addressing.hosts.network_address),
        links_start=_first(addressing.links),
        loopbacks_start=_first(addressing.loopbacks),
        sizes=(addressing.hosts.num_addresses, _size(addressing.links), _size(addressing.loopbacks)),
    )


def _first(pool: Network | None) -> int:
    return 0 if pool is None else int(pool.network_address)


def _size(pool: Network | None) -> int:
    return 0 if pool is None else pool.num_addresses


def resting_in(addresses: FabricAddresses, resting: Iterable[int]) -> tuple[int, int, int, int]:
    """Count resting addresses by pool: loopbacks, links, host subnets, and the most in one subnet."""
    loopbacks = links = subnets = 0
    hosts: Counter[int] = Counter()
    for address in resting:
        loopbacks += addresses.loopback_number(address) >= 0
        links += addresses.link_number(address) >= 0
        if addresses.subnet_number(address) >= 0:
            subnets += 1
        elif 0 <= address - addresses.hosts_start < addresses.sizes[0]:
            hosts[(address - addresses.hosts_start) >> addresses.subnet_bits] += 1
    return loopbacks, links, subnets, max(hosts.values(), default=0)


def check_pools(
    addressing: FabricAddressing, switches: int, links: int, subnets: int, hosts_per_subnet: int
) -> list[PoolExhausted]:
    """Compare the pools with the numbers of switches, links and host subnets, and with the largest subnet.

    Each number includes resting addresses (``resting_in``).
    """
    host_bits = addressing.hosts.max_prefixlen - addressing.hosts_per_switch
    shared = addressing.host_links == "shared"
    room = (1 << host_bits) - 3 if shared else ((1 << host_bits) - 2) // 2
    if addressing.loopbacks is None:
        switches = 0
    subnet_bits = addressing.hosts_per_switch - addressing.hosts.prefixlen
    possible_subnets = 1 << subnet_bits if subnet_bits >= 0 else 0
    wanted = (
        ("loopbacks", switches, max(0, _size(addressing.loopbacks) - 1)),
        ("links", links, max(0, _size(addressing.links) // 2 - 1)),
        ("hosts", subnets, possible_subnets),
        ("hosts_per_switch", hosts_per_subnet, max(0, room)),
    )
    return [PoolExhausted(pool, need, have) for pool, need, have in wanted if need > have]
