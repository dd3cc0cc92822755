"""Headroom: what still arrives at a port after it has asked the sender to pause, and must not be dropped.

IEEE 802.1Q, Annex N (from 802.1Qbb): the pause frame waits behind a frame of the longest kind, crosses the cable and
both interfaces, is acted on, and the sender may just have begun another such frame; what it sent meanwhile is on the
cable. With interface delays for both directions, in nanoseconds and bytes at the port's speed:

    2 * longest frame + pause frame + (2 * cable + 2 * interface + response) * speed

Memory is handed out in cells. The worst traffic is frames of 64 bytes, which take 84 bytes on the wire (8 of preamble,
12 of gap) and a cell each. A margin covers what the standard leaves to the implementation, the way from the buffer to
the port above all: published settings of real switches lie 0 to 19 % above the bare formula
(tests/render/test_headroom.py).
"""

from __future__ import annotations

from math import ceil

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


def headroom_bytes(speed_gbps: int, length_m: float, mtu: int) -> int:
    """The PFC delay value with its margin in bytes on the wire, for a port, a cable and an IP MTU in bytes."""
    nanoseconds = 2 * CABLE_NS_PER_M * length_m + 2 * INTERFACE_NS + RESPONSE_NS
    return ceil(MARGIN * (2 * (mtu + FRAME_OVERHEAD_BYTES) + PAUSE_FRAME_BYTES + nanoseconds * speed_gbps / 8))


def headroom_cells(speed_gbps: int, length_m: float, mtu: int) -> int:
    """Cells that the headroom takes when every frame is of the smallest kind and fits into one cell."""
    return ceil(headroom_bytes(speed_gbps, length_m, mtu) / SMALLEST_ON_WIRE_BYTES)
