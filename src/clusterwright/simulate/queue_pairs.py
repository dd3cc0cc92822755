"""Queue pairs of the connections between NICs, and the UDP source ports that RoCEv2 derives from them.

Assumed: a NIC numbers its queue pairs consecutively from a start of its own, and those of one connection are made in
one go. The source port is the one that Linux computes (include/rdma/ib_verbs.h: ``rdma_calc_flow_label`` and
``rdma_flow_label_to_udp_sport``, since 5.8 for connections that set no flow label, as NCCL's). NICs of older drivers
send every queue pair from one port; ``FIXED`` stands for those.
"""

from __future__ import annotations

import numpy as np

from clusterwright.simulate.network import Ints
from clusterwright.simulate.scramble import scrambled

FIXED = 0xC000  # the lowest port that RoCEv2 uses
_STARTS = 2
_NUMBERS = 0xFFFFFF


def queue_pair_starts(seed: int, nics: int) -> Ints:
    """The first queue pair number of each NIC's job."""
    return (scrambled(seed, _STARTS, nics) & np.uint64(_NUMBERS)).astype(np.int64)


def occurrence(values: Ints) -> Ints:
    """How often each entry's value came before it."""
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
