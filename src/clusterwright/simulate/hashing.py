"""What a switch's ASIC computes to pick one link of an equal-cost group.

A 16-bit CRC over source address, destination address, UDP source port, UDP destination port and, with E-ECMP, the
destination queue pair (three bytes 13 bytes behind the start of the UDP header, read by a user-defined field); the
register starts from a seed of the switch's own. The group member is the CRC modulo the group's size.

Rack switches use CRC16-CCITT, as FBOSS configures them (LoadBalancerTestUtils.cpp). The layers above take another
polynomial each, which is assumed: a CRC is linear, so with one polynomial everywhere a seed only renames the choices,
and flows that met once would meet again (polarisation).

Since a CRC is linear, it is the XOR of what each field adds: fields are hashed once per NIC, not once per flow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from clusterwright.simulate.network import Bytes, Ints, Network
from clusterwright.simulate.scramble import scrambled

Hashes = npt.NDArray[np.uint16]
POLYNOMIALS = (0x1021, 0x8005, 0x3D65)  # CRC16-CCITT, CRC-16/ARC, CRC-16/DNP: one for each layer, from the rack up
ROCE_PORT = 4791
_SEEDS = 1


def crc16(polynomial: int, message: Bytes, initial: Hashes | None = None) -> Hashes:
    """The CRC of each row of ``message``, most significant bit first, without reflection or a final XOR.

    ``initial`` is what the register of each row starts from, 0 by default.
    """
    table = _table(polynomial)
    register = np.zeros(len(message), np.uint16) if initial is None else initial
    for byte in message.T:
        register = (register << np.uint16(8)) ^ table[(register >> np.uint16(8)) ^ byte]
    return register


def as_bytes(values: Ints, size: int) -> Bytes:
    """Each value as a row of ``size`` bytes, most significant first."""
    shifts = np.arange(size - 1, -1, -1, dtype=np.int64) * 8
    return ((values[:, None] >> shifts) & 0xFF).astype(np.uint8)


@cache
def _table(polynomial: int) -> Hashes:
    entries = np.arange(256, dtype=np.uint32) << 8
    for _ in range(8):
        entries = np.where(entries & 0x8000, (entries << 1) ^ polynomial, entries << 1) & 0xFFFF
    return entries.astype(np.uint16)


@dataclass(frozen=True, slots=True)
class Chooser:
    """How the switches of a network pick: ``keys[layer, flow] ^ mask[switch]`` modulo the size of the group."""

    layer: Ints
    mask: Hashes

    def choice(self, keys: Hashes, switch: Ints, flow: Ints) -> Ints:
        """A number for each flow at each switch, to be taken modulo the size of its group."""
        return (keys[self.layer[switch], flow] ^ self.mask[switch]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FieldHashes:
    """What each field adds to the CRC of a packet, per layer: by NIC for addresses, by value for ports and bytes."""

    source: Hashes
    target: Hashes
    port: Hashes
    queue_pair: Hashes

    def keys(self, source: Ints, target: Ints, source_port: Ints, queue_pair: Ints) -> Hashes:
        """``keys[layer, flow]`` of flows between NICs."""
        found = self.source[:, source] ^ self.target[:, target] ^ self.port[:, source_port]
        if self.queue_pair.size:
            for position in range(3):
                found ^= self.queue_pair[:, position, (queue_pair >> (16 - 8 * position)) & 0xFF]
        return found


def field_hashes(network: Network, *, with_queue_pair: bool) -> FieldHashes:
    """Hash every NIC's address and every port and byte value once. ``with_queue_pair`` is E-ECMP's extra field."""
    address = network.nics.address
    width = address.shape[1]
    udf = 3 if with_queue_pair else 0
    every_port = as_bytes(np.arange(1 << 16), 2)
    every_byte = as_bytes(np.arange(256), 1)
    ports = np.concatenate([every_port, np.broadcast_to(as_bytes(np.array([ROCE_PORT]), 2), (1 << 16, 2))], axis=1)
    return FieldHashes(
        source=_stacked(address, width + 4 + udf),
        target=_stacked(address, 4 + udf),
        port=_stacked(ports, udf),
        queue_pair=np.stack([_stacked(every_byte, 2 - position) for position in range(3)], axis=1)
        if with_queue_pair
        else np.empty((len(POLYNOMIALS), 0, 0), np.uint16),
    )


def switch_chooser(network: Network, seed: int, *, message_bytes: int) -> Chooser:
    """Switches with seeds drawn by ``seed``, for packets whose hashed fields are ``message_bytes`` long."""
    layer = network.tier % len(POLYNOMIALS)
    seeds = scrambled(seed, _SEEDS, len(network.switches)).astype(np.uint16)
    mask = np.zeros(len(network.switches), np.uint16)
    for number, polynomial in enumerate(POLYNOMIALS):
        here = layer == number
        mask[here] = crc16(polynomial, np.zeros((int(here.sum()), message_bytes), np.uint8), seeds[here])
    return Chooser(layer, mask)


def pinned_chooser(network: Network) -> Chooser:
    """Path pinning: every switch picks by the destination's slice, which is then the key on every layer."""
    return Chooser(np.zeros(len(network.switches), np.int64), np.zeros(len(network.switches), np.uint16))


def pinned_keys(network: Network, target: Ints) -> Hashes:
    """The slice of each flow's destination as its key."""
    return network.nics.slice[target].astype(np.uint16)[None, :]


def _stacked(field: Bytes, behind: int) -> Hashes:
    """What a field with ``behind`` bytes after it adds, for every polynomial."""
    padded = np.concatenate([field, np.zeros((len(field), behind), np.uint8)], axis=1)
    return np.stack([crc16(polynomial, padded) for polynomial in POLYNOMIALS])
