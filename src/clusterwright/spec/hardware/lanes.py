"""Lanes of a link: electrical ones at each port, optical ones in a fibre.

Copper has the port's own lanes from end to end. A transceiver may have other lanes on the fibre than at the port: the
two ends must have equal optical lanes.
"""

from __future__ import annotations

from collections.abc import Mapping

# By speed in Gb/s and electrical lanes, the optical lanes of transceivers for single-mode fibre. IEEE 802.3bs, 802.3cd,
# 802.3cu, 802.3ck and 802.3df: 400GBASE-DR4 and -FR4 have four lanes of 100G whether the port has eight of 50G
# (400GAUI-8) or four of 100G (400GAUI-4), 100GBASE-DR and -FR1 one whether it has four, two or one.
_SINGLE_MODE: Mapping[tuple[int, int], frozenset[int]] = {
    (800, 8): frozenset({8}),
    (400, 8): frozenset({4}),
    (400, 4): frozenset({4}),
    (100, 4): frozenset({1, 4}),
    (100, 2): frozenset({1}),
    (100, 1): frozenset({1}),
}


def optical_lanes(medium: str, speed_gbps: int, electrical: int) -> frozenset[int]:
    """Possible numbers of lanes of a cable or fibre at a port; the port's own number without a conversion.

    Multi-mode transceivers (SR) and active cables have an optical lane for each electrical one.
    """
    if medium == "smf":
        return _SINGLE_MODE.get((speed_gbps, electrical), frozenset({electrical}))
    return frozenset({electrical})


def can_join(medium: str, speed_gbps: int, first: int, second: int) -> bool:
    """Whether ports with these electrical lanes have a link over a medium."""
    return bool(optical_lanes(medium, speed_gbps, first) & optical_lanes(medium, speed_gbps, second))
