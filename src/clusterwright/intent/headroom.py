"""Headroom, the buffer for packets in flight after a pause, and the pools for it.

IEEE 802.1Q, Annex N (from 802.1Qbb): the pause frame waits behind a frame of the longest kind, crosses the cable and
both interfaces, is acted on, and the sender may just have begun another such frame; the packets sent meanwhile are on
the cable. With interface delays for both directions, in nanoseconds and bytes at the port's speed:

2 * longest frame + pause frame + (2 * cable + 2 * interface + response) * speed

Memory is handed out in cells. The worst traffic is frames of 64 bytes, which take 84 bytes on the wire (8 of preamble,
12 of gap) and a cell each. A margin covers what the standard leaves to the implementation, the way from the buffer to
the port above all: published settings of real switches lie 0 to 19 % above the bare formula
(tests/intent/test_headroom.py).

All ports of a chip take their headroom from one pool. A pool smaller than the sum of the promises keeps them only while
not all ports need it, and a pause that spreads makes all of them need it at once: so it is made as large as the sum,
and shared memory has less by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import Buffer

# Light in glass and a signal in copper need about the same.
CABLE_NS_PER_M = 5.0
# Round trip through one station: MAC, PCS, PMA and PMD of IEEE 802.3, table 116-6: 245.76 + 800 + 92.16 + 20.48 for
# 400GBASE-R; 200GBASE-R differs by 1.3 ns, 100GBASE-R with RS-FEC by less than 30.
INTERFACE_NS = 1158.4
# Annex N: 6,144 bit times at 10 Gb/s until the sender acts on a pause.
RESPONSE_NS = 614.4
PAUSE_FRAME_BYTES = 84
FRAME_OVERHEAD_BYTES = 22
SMALLEST_ON_WIRE_BYTES = 84
MARGIN = 1.15
# Of a lossless group's own, and of a lossy queue's own: SONiC's pg_profile_lookup.ini and buffers_defaults for Tomahawk
# 5 (18,796 and 1,778 bytes); FBOSS's tests give a group 19.
GROUP_CELLS, QUEUE_CELLS = 74, 7


@dataclass(frozen=True, slots=True)
class Pool:
    """Division of a switch's pool, in cells: headroom promised to ports, and the rest.

    Of the rest, groups and queues have some of their own; all ports share the remainder.
    """

    shared_cells: int
    headroom_cells: int


def divide_pool(buffer: Buffer, promised_cells: int) -> Pool:
    """The pool of a switch with this headroom promised to its ports.

    The rest is negative if the pool cannot hold the promises (CW432).
    """
    return Pool(buffer.pool_cells - promised_cells, promised_cells)


def reserved_cells(lossless: int, lossy: int, ports: int) -> int:
    """Cells reserved on so many ports by groups at ingress or by queues at egress, the larger of the two."""
    return ports * max(lossless * GROUP_CELLS, lossy * QUEUE_CELLS)


def smallest_share_cells(buffer: Buffer, ports: int, mtu: int) -> int:
    """The least shared memory for a working switch: a frame of the longest kind for each port."""
    return ports * ceil((mtu + FRAME_OVERHEAD_BYTES) / buffer.cell_bytes)


def headroom_bytes(speed_gbps: int, length_m: float, mtu: int) -> int:
    """The PFC delay value with its margin in bytes on the wire, for a port, a cable and an IP MTU in bytes.

    A cable counts in whole metres, as switches are told of it: ports of one profile have one headroom.
    """
    nanoseconds = 2 * CABLE_NS_PER_M * ceil(length_m) + 2 * INTERFACE_NS + RESPONSE_NS
    return ceil(MARGIN * (2 * (mtu + FRAME_OVERHEAD_BYTES) + PAUSE_FRAME_BYTES + nanoseconds * speed_gbps / 8))


def headroom_cells(speed_gbps: int, length_m: float, mtu: int) -> int:
    """Cells of the headroom if every frame is of the smallest kind and fits into one cell."""
    return ceil(headroom_bytes(speed_gbps, length_m, mtu) / SMALLEST_ON_WIRE_BYTES)
