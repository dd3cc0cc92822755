"""Flows of connections: queue pairs and the hashed fields of their packets, for the choice of links by switches.

RoCEv2 derives UDP source ports from queue pairs. Assumed: a NIC numbers its queue pairs consecutively from its own
first number, and those of one connection are consecutive. The source port is computed as in Linux
(include/rdma/ib_verbs.h: ``rdma_calc_flow_label`` and ``rdma_flow_label_to_udp_sport``, since 5.8 for connections
without a flow label, such as NCCL's). With older drivers every queue pair has the same source port, ``FIXED``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clusterwright.extras.simulate.choices import PATH_PINNING
from clusterwright.extras.simulate.hashing import (
    Chooser,
    FieldHashes,
    Hashes,
    field_hashes,
    layers_of,
    pinned_chooser,
    pinned_keys,
    switch_chooser,
)
from clusterwright.extras.simulate.loads import Flows
from clusterwright.extras.simulate.network import FabricGraph, Ints
from clusterwright.extras.simulate.scramble import scrambled
from clusterwright.extras.simulate.traffic import Phase

FIXED = 0xC000  # the lowest port that RoCEv2 uses
_STARTS = 2
_NUMBERS = 0xFFFFFF


def queue_pair_starts(seed: int, nics: int) -> Ints:
    """The first queue pair number of each NIC's job."""
    return (scrambled(seed, _STARTS, nics) & np.uint64(_NUMBERS)).astype(np.int64)


def occurrence(values: Ints) -> Ints:
    """The number of earlier entries with the same value, for each entry."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.searchsorted(ordered, ordered)
    counts = np.empty(len(values), np.int64)
    counts[order] = np.arange(len(values)) - first
    return counts


def queue_pair_numbers(starts: Ints, nic: Ints, connection: Ints, queue_pairs: int, *, receives: bool) -> Ints:
    """Numbers [connection, queue pair] at one end; a NIC's ``connection``-th sends and receives take turns."""
    first = starts[nic] + (2 * connection + receives) * queue_pairs
    return (first[:, None] + np.arange(queue_pairs)) & _NUMBERS


def source_ports(local: Ints, remote: Ints) -> Ints:
    """UDP source ports (49152 to 65535) from queue pair numbers, as Linux computes them."""
    label = (local * remote).astype(np.uint64)
    label ^= label >> np.uint64(20)
    label ^= label >> np.uint64(40)
    label &= np.uint64(0xFFFFF)
    low = (label & np.uint64(0x3FFF)) ^ (label >> np.uint64(14))
    return (low | np.uint64(FIXED)).astype(np.int64)


_FLOWS_AT_ONCE = 1 << 21  # bounds memory


@dataclass(frozen=True, slots=True)
class FlowTransport:
    """The transport: the ``hash`` of switches, ``qps`` queue pairs a connection, the rule of ``source_port``."""

    hash: str
    qps: int
    source_port: str = "queue-pair"


@dataclass(frozen=True, slots=True)
class FlowMaker:
    """Makes flows on ``network`` with switches ``chooser``; ``fields`` is None for switches without a hash."""

    network: FabricGraph
    transport: FlowTransport
    chooser: Chooser
    fields: FieldHashes | None

    def flows(self, phase: Phase, seed: int) -> Iterator[tuple[bool, Flows]]:
        """The flows of a phase in portions, each with a flag for the job's own; those of a connection stay together."""
        starts = queue_pair_starts(seed, len(self.network.nics.switch))
        sends, receives = occurrence(phase.source), occurrence(phase.target)
        qps = self.transport.qps
        at_once = max(1, _FLOWS_AT_ONCE // qps)
        measured, total = phase.measured, len(phase.source)
        for first, last in pairwise([*range(0, measured, at_once), *range(measured, total, at_once), total]):
            part = slice(first, last)
            source, target = phase.source[part], phase.target[part]
            local = queue_pair_numbers(starts, source, sends[part], qps, receives=False).ravel()
            remote = queue_pair_numbers(starts, target, receives[part], qps, receives=True).ravel()
            source, target = source.repeat(qps), target.repeat(qps)
            yield first < measured, Flows(source, target, self._keys(source, target, local, remote))

    def _keys(self, source: Ints, target: Ints, local: Ints, remote: Ints) -> Hashes:
        if self.fields is None:
            return pinned_keys(self.network, target)
        derived = self.transport.source_port == "queue-pair"
        ports = source_ports(local, remote) if derived else np.full(len(local), FIXED)
        return self.fields.keys(source, target, ports, remote)


def flow_maker(network: FabricGraph, transport: FlowTransport) -> FlowMaker:
    """Prepare a network's switches and NICs for hashing.

    Raises ClusterwrightError for fields unsupported by its switches, and for switches with an unknown hash.
    """
    if transport.hash == PATH_PINNING:
        return FlowMaker(network=network, transport=transport, chooser=pinned_chooser(network), fields=None)
    layers = layers_of(network, transport.hash)
    return FlowMaker(
        network=network,
        transport=transport,
        chooser=switch_chooser(network, layers),
        fields=field_hashes(network, layers),
    )
