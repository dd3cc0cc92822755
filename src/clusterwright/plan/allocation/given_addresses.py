"""Which addresses a fabric's links and hosts have: those that they have already, and for others the next that are free.

An address of the allocation file counts where it lies as the spec says it must: in its pool, and a host's behind the
switch that it hangs at. Another is given in its place, and lint says so (CW262).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

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
        self._known = {
            at: addresses.subnet_number(seat.standing.hosts)
            for at, seat in enumerate(skeleton.seats)
            if seat.standing is not None and seat.standing.hosts is not None
        }
        rests = [addresses.subnet_number(address) for address in resting]
        self._subnets = Numbers(number for number in (*self._known.values(), *rests) if number >= 0)
        self._skeleton = skeleton
        self._links = Numbers(self._taken_links())
        self._hosts: dict[int, Numbers] = {}
        self._resting: dict[int, list[int]] = {}  # those of hosts, by the network address of their subnet
        for address in resting:
            network = addresses.host_subnet((address - addresses.hosts_start) >> addresses.subnet_bits)
            self._resting.setdefault(network, []).append(address)

    @cached_property
    def _own(self) -> Mapping[int, list[int]]:
        """Addresses of hosts that stand, by seat."""
        found: dict[int, list[int]] = {}
        for item in self._skeleton.attachments():
            if item.standing is not None and item.standing.address is not None:
                found.setdefault(item.seat, []).append(item.standing.address)
        return found

    def _taken_links(self) -> Iterator[int]:
        links = (link.standing for own in self._skeleton.standing.values() for link in own)
        standing = (cable.address for cable in links if cable is not None and cable.address is not None)
        for address in (*standing, *self._skeleton.resting.addresses):
            if (number := self.addresses.link_number(address)) >= 0:
                yield number

    def subnet(self, seat: int) -> int:
        """The network address of the subnet behind a switch."""
        if seat not in self.subnets:
            known_subnet = self._known.get(seat, -1)
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
            taken = (*self._own.get(item.seat, ()), *self._resting.get(subnet, ()))
            self._hosts[item.seat] = Numbers(
                number for each in taken if (number := self.addresses.host_number(subnet, each)) >= 0
            )
        return self.addresses.host(subnet, self._hosts[item.seat].take())

    def link(self, link: SeatLink) -> tuple[int, int]:
        """The addresses of the lower and the upper end of an uplink."""
        standing_address = link.standing.address if link.standing is not None else None
        if standing_address is not None and self.addresses.link_number(standing_address) >= 0:
            return standing_address, standing_address + 1
        return self.addresses.link(self._links.take())
