"""From connections to flows: queue pairs, their packets' hashed fields, and the switches that will choose for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clusterwright.simulate.choices import PATH_PINNING
from clusterwright.simulate.hashing import (
    Chooser,
    FieldHashes,
    Hashes,
    field_hashes,
    layers_of,
    pinned_chooser,
    pinned_keys,
    switch_chooser,
)
from clusterwright.simulate.loads import Flows
from clusterwright.simulate.network import FabricGraph, Ints
from clusterwright.simulate.queue_pairs import (
    FIXED,
    occurrence,
    queue_pair_numbers,
    queue_pair_starts,
    source_ports,
)
from clusterwright.simulate.traffic import Phase

_FLOWS_AT_ONCE = 1 << 21  # bounds memory


@dataclass(frozen=True, slots=True)
class FlowTransport:
    """How data travels: what switches ``hash``, ``qps`` queue pairs a connection, where ``source_port`` comes from."""

    hash: str
    qps: int
    source_port: str = "queue-pair"


@dataclass(frozen=True, slots=True)
class FlowMaker:
    """Makes flows on ``network``, whose switches are ``chooser``; ``fields`` is None where they hash nothing."""

    network: FabricGraph
    transport: FlowTransport
    chooser: Chooser
    fields: FieldHashes | None

    def flows(self, phase: Phase, seed: int) -> Iterator[tuple[bool, Flows]]:
        """The flows of a phase in portions, each with whether they are the job's; a connection's stand together."""
        starts = queue_pair_starts(seed, len(self.network.nics.switch))
        sends, receives = occurrence(phase.source), occurrence(phase.target)
        qps = self.transport.qps
        at_once = max(1, _FLOWS_AT_ONCE // qps)
        measured, every = phase.measured, len(phase.source)
        for first, last in pairwise([*range(0, measured, at_once), *range(measured, every, at_once), every]):
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

    Raises ClusterwrightError for what its switches cannot hash, or where nothing is known of how they do.
    """
    if transport.hash == PATH_PINNING:
        return FlowMaker(network, transport, pinned_chooser(network), None)
    layers = layers_of(network, transport.hash)
    return FlowMaker(network, transport, switch_chooser(network, layers), field_hashes(network, layers))
