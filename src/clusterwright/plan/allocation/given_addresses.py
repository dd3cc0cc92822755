"""Addresses of a fabric's links and hosts: those allocated before, and for others the next free ones.

An address of the allocation file counts if it lies where the spec requires: in its pool, and a host's behind its own
switch. Otherwise the host gets another one, and lint reports it (CW262).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain

from clusterwright.plan.addressing import FabricAddresses
from clusterwright.plan.allocation.standing import Numbers
from clusterwright.plan.seats import Attachment, SeatLink
from clusterwright.plan.skeleton import FabricSkeleton


class GivenAddresses:
    """Gives the addresses of one fabric, one after another; ``subnets`` are the host subnets given so far, by seat."""

    def __init__(self, skeleton: FabricSkeleton, addresses: FabricAddresses) -> None:
        resting = skeleton.resting.addresses
        self.addresses = addresses
        self.subnets: dict[int, int] = {}
        self._subnet_by_seat: dict[int, int] = {}
        for index, seat in enumerate(skeleton.seats):
            if seat.standing is not None and seat.standing.hosts is not None:
                self._subnet_by_seat[index] = addresses.subnet_number(seat.standing.hosts)
        rests = [addresses.subnet_number(address) for address in resting]
        self._subnets = Numbers(number for number in (*self._subnet_by_seat.values(), *rests) if number >= 0)
        self._skeleton = skeleton
        self._links = Numbers(self._taken_links())
        self._hosts: dict[int, Numbers] = {}
        self._resting: dict[int, list[int]] = {}  # those of hosts, by the network address of their subnet
        for address in resting:
            network = addresses.host_subnet((address - addresses.hosts_start) >> addresses.subnet_bits)
            self._resting.setdefault(network, []).append(address)

    @cached_property
    def _allocated_hosts(self) -> Mapping[int, list[int]]:
        """Allocated addresses of hosts, by seat."""
        by_seat: dict[int, list[int]] = {}
        for item in self._skeleton.attachments():
            if item.standing is not None and item.standing.address is not None:
                by_seat.setdefault(item.seat, []).append(item.standing.address)
        return by_seat

    def _taken_links(self) -> Iterator[int]:
        links = chain.from_iterable(self._skeleton.standing.values())
        cables = (link.standing for link in links if link.standing is not None)
        allocated = (cable.address for cable in cables if cable.address is not None)
        for address in (*allocated, *self._skeleton.resting.addresses):
            number = self.addresses.link_number(address)
            if number >= 0:
                yield number

    def subnet(self, seat: int) -> int:
        """The network address of the subnet behind a switch."""
        if seat not in self.subnets:
            known_subnet = self._subnet_by_seat.get(seat, -1)
            self.subnets[seat] = self.addresses.host_subnet(
                self._subnets.take(known_subnet if known_subnet >= 0 else None)
            )
        return self.subnets[seat]

    def host(self, item: Attachment) -> tuple[int, int | None]:
        """The address of a NIC, and of its switch's end (None in a shared subnet)."""
        subnet = self.subnets[item.seat] if item.seat in self.subnets else self.subnet(item.seat)
        if item.standing is not None and item.standing.address is not None:
            number = self.addresses.host_number(subnet, item.standing.address)
            if number >= 0:
                return self.addresses.host(subnet, number)
        if item.seat not in self._hosts:
            taken = (*self._allocated_hosts.get(item.seat, ()), *self._resting.get(subnet, ()))
            numbers = [self.addresses.host_number(subnet, address) for address in taken]
            self._hosts[item.seat] = Numbers([number for number in numbers if number >= 0])
        return self.addresses.host(subnet, self._hosts[item.seat].take())

    def link(self, link: SeatLink) -> tuple[int, int]:
        """The addresses of the lower and the upper end of an uplink."""
        standing_address = link.standing.address if link.standing is not None else None
        if standing_address is not None and self.addresses.link_number(standing_address) >= 0:
            return standing_address, standing_address + 1
        return self.addresses.link(self._links.take())
