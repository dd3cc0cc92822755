"""From connections to flows: queue pairs, their packets' hashed fields, and the switches that will choose for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clusterwright.simulate.hashing import (
    Chooser,
    FieldHashes,
    Hashes,
    field_hashes,
    pinned_chooser,
    pinned_keys,
    switch_chooser,
)
from clusterwright.simulate.loads import Flows
from clusterwright.simulate.network import Ints, Network
from clusterwright.simulate.queue_pairs import (
    FIXED,
    occurrence,
    queue_pair_numbers,
    queue_pair_starts,
    source_ports,
)
from clusterwright.simulate.traffic import Phase

HASHES = ("ecmp", "e-ecmp", "path-pinning")
SOURCE_PORTS = ("queue-pair", "fixed")
_FLOWS_AT_ONCE = 1 << 21  # bounds memory
_UDF_BYTES = 3


@dataclass(frozen=True, slots=True)
class Transport:
    """How data travels: the switches' ``hash``, ``qps`` queue pairs a connection, where ``source_port`` comes from."""

    hash: str
    qps: int
    source_port: str = "queue-pair"


@dataclass(frozen=True, slots=True)
class FlowMaker:
    """Makes flows on ``network``. ``fields`` is None for path pinning, which hashes nothing."""

    network: Network
    transport: Transport
    fields: FieldHashes | None

    def chooser(self, seed: int) -> Chooser:
        """The switches, with the seeds drawn for ``seed``."""
        if self.fields is None:
            return pinned_chooser(self.network)
        udf = _UDF_BYTES if self.transport.hash == "e-ecmp" else 0
        return switch_chooser(self.network, seed, message_bytes=2 * self.network.nics.address.shape[1] + 4 + udf)

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


def flow_maker(network: Network, transport: Transport) -> FlowMaker:
    """Prepare a network's NICs for hashing."""
    hashed = transport.hash != "path-pinning"
    fields = field_hashes(network, with_queue_pair=transport.hash == "e-ecmp") if hashed else None
    return FlowMaker(network, transport, fields)
