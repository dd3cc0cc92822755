"""The choice of one link of an equal-cost group by a switch's ASIC.

A CRC over source address, destination address, UDP source port, UDP destination port and, with E-ECMP, the destination
queue pair (three bytes 13 bytes behind the start of the UDP header). Polynomial and seed are those in the configuration
of the tier's switches (``clusterwright.intent.hashing``); the register starts from the seed, and the group member is
its 16 bits modulo the group's size.

A CRC is linear: with one polynomial everywhere a seed only renames the choices, and flows on a common link would share
further links (polarisation). For the same reason it is the XOR of each field's contribution: fields are hashed once per
NIC, not once per flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from clusterwright.extras.simulate.choices import E_ECMP, ECMP, RENDERED
from clusterwright.extras.simulate.network import Bytes, FabricGraph, Ints
from clusterwright.finding import ClusterwrightError
from clusterwright.intent.hashing import TierHashing
from clusterwright.spec.hardware.systems import Crc
from clusterwright.spec.isolation import ROCE_PORT

Hashes = npt.NDArray[np.uint16]
_UDF_BYTES = 3
_NO_CHOICE = Crc(16, 0x1021, "low")  # for switches without a choice of links


@dataclass(frozen=True, slots=True)
class SimulatedHashing:
    """The hash of a tier's switches: CRC and seed, with or without the destination queue pair."""

    crc: Crc
    seed: int
    queue_pairs: bool


def layers_of(network: FabricGraph, requested: str) -> tuple[SimulatedHashing, ...]:
    """The hash of every tier: as rendered, or with queue pairs nowhere (``ecmp``) or everywhere (``e-ecmp``).

    Raises ClusterwrightError for switches with an unknown hash, and for requested queue pairs without support for them.
    """
    return tuple(_layer(layer, requested) for layer in network.hashing)


def _layer(tier: TierHashing, requested: str) -> SimulatedHashing:
    role = tier.tier.role
    if tier.function is None:
        if tier.chooses:
            raise ClusterwrightError(f"How {role} chooses among equal paths cannot be simulated: {tier.reason}.")
        return SimulatedHashing(_NO_CHOICE, 0, queue_pairs=False)
    if requested == E_ECMP and tier.without and tier.chooses:
        raise ClusterwrightError(
            f"{role} ({tier.tier.model.name}) cannot hash queue pairs, as e-ecmp asks: {tier.without}. Ask for "
            "`--hash rendered`, the setting of its switches."
        )
    pairs = {RENDERED: tier.queue_pairs, ECMP: False, E_ECMP: True}[requested]
    return SimulatedHashing(tier.function.crc, tier.function.seed, pairs)


def crc(kind: Crc, message: Bytes, seed: int = 0) -> Hashes:
    """16 bits of the CRC of each row of ``message``, most significant bit first, without reflection or a final XOR."""
    table = _table(kind)
    mask = np.uint64((1 << kind.bits) - 1)
    above = np.uint64(kind.bits - 8)
    register = np.full(len(message), np.uint64(seed) & mask, np.uint64)
    for byte in message.T:
        register = ((register << np.uint64(8)) & mask) ^ table[(register >> above) ^ byte]
    return (register >> np.uint64(16 if kind.half == "high" else 0)).astype(np.uint16)


def as_bytes(values: Ints, size: int) -> Bytes:
    """Each value as a row of ``size`` bytes, most significant first."""
    shifts = np.arange(size - 1, -1, -1, dtype=np.int64) * 8
    return ((values[:, None] >> shifts) & 0xFF).astype(np.uint8)


@cache
def _table(kind: Crc) -> npt.NDArray[np.uint64]:
    entries = np.arange(256, dtype=np.uint64) << np.uint64(kind.bits - 8)
    top, mask = np.uint64(1 << (kind.bits - 1)), np.uint64((1 << kind.bits) - 1)
    for _ in range(8):
        shifted = entries << np.uint64(1)
        entries = np.where(entries & top, shifted ^ np.uint64(kind.polynomial), shifted) & mask
    return entries


@dataclass(frozen=True, slots=True)
class Chooser:
    """The choice by the switches of a network: ``keys[layer, flow] ^ mask[switch]`` modulo the size of the group."""

    layer: Ints
    mask: Hashes

    def choice(self, keys: Hashes, switch: Ints, flow: Ints) -> Ints:
        """A number for each flow at each switch, for the remainder by the size of its group."""
        return (keys[self.layer[switch], flow] ^ self.mask[switch]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FieldHashes:
    """Each field's contribution to the CRC of a packet, per layer.

    By NIC for addresses, by value for ports and bytes.
    """

    source: Hashes
    target: Hashes
    port: Hashes
    queue_pair: Hashes

    def keys(self, source: Ints, target: Ints, source_port: Ints, queue_pair: Ints) -> Hashes:
        """``keys[layer, flow]`` of flows between NICs."""
        hashes = self.source[:, source] ^ self.target[:, target] ^ self.port[:, source_port]
        if self.queue_pair.size:
            for position in range(3):
                hashes ^= self.queue_pair[:, position, (queue_pair >> (16 - 8 * position)) & 0xFF]
        return hashes


def field_hashes(network: FabricGraph, layers: Sequence[SimulatedHashing]) -> FieldHashes:
    """Hash every NIC's address and every port and byte value once for each layer."""
    address = network.nics.address
    width = address.shape[1]
    queue_pair: Hashes = np.empty((0, 0, 0), np.uint16)
    if any(layer.queue_pairs for layer in layers):
        queue_pair = np.array([_queue_pair_added(layer) for layer in layers])
    return FieldHashes(
        source=np.stack([_added(layer, address, width + 4) for layer in layers]),
        target=np.stack([_added(layer, address, 4) for layer in layers]),
        port=np.stack([_ports_added(layer.crc, queue_pairs=layer.queue_pairs) for layer in layers]),
        queue_pair=queue_pair,
    )


def switch_chooser(network: FabricGraph, layers: Sequence[SimulatedHashing]) -> Chooser:
    """The switches of a network, each with the seed and the polynomial of its tier."""
    length = 2 * network.nics.address.shape[1] + 4
    masks = []
    for layer in layers:
        hashed_length = length + _UDF_BYTES if layer.queue_pairs else length
        masks.append(crc(layer.crc, np.zeros((1, hashed_length), np.uint8), layer.seed))
    return Chooser(network.tier, np.concatenate(masks)[network.tier])


def pinned_chooser(network: FabricGraph) -> Chooser:
    """The choice with path pinning: the destination's slice is the key on every layer."""
    return Chooser(np.zeros(len(network.switches), np.int64), np.zeros(len(network.switches), np.uint16))


def pinned_keys(network: FabricGraph, target: Ints) -> Hashes:
    """The slice of each flow's destination as its key."""
    return network.nics.slice[target].astype(np.uint16)[None, :]


def _queue_pair_added(layer: SimulatedHashing) -> list[Hashes]:
    """The contribution of each value of each byte of the queue pair."""
    every_byte = as_bytes(np.arange(256), 1)
    return [_added(layer, every_byte, _UDF_BYTES - 1 - index, pair=True) for index in range(_UDF_BYTES)]


@cache
def _ports_added(kind: Crc, *, queue_pairs: bool) -> Hashes:
    """The contribution of every source port followed by the destination port; the same in every network."""
    every_port = as_bytes(np.arange(1 << 16), 2)
    ports = np.concatenate([every_port, np.broadcast_to(as_bytes(np.array([ROCE_PORT]), 2), (1 << 16, 2))], axis=1)
    return _added(SimulatedHashing(kind, 0, queue_pairs), ports, 0)


def _added(layer: SimulatedHashing, field: Bytes, behind: int, *, pair: bool = False) -> Hashes:
    """The contribution of a field with ``behind`` bytes and perhaps the queue pair after it; none if not hashed."""
    if pair and not layer.queue_pairs:
        return np.zeros(len(field), np.uint16)
    after = behind + (_UDF_BYTES if layer.queue_pairs and not pair else 0)
    padded = np.concatenate([field, np.zeros((len(field), after), np.uint8)], axis=1)
    return crc(layer.crc, padded)
