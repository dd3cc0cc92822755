"""How many lanes a link has on its way: electrical ones at each port, optical ones in a fibre.

Copper has the port's own lanes from end to end. A transceiver may have others on the fibre than towards the port: it is
the optical lanes that two ends must have in common.
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
    """The numbers of lanes that a cable or fibre can have at a port; the port's own where nothing lies between.

    Multi-mode transceivers (SR) and active cables have an optical lane for each electrical one.
    """
    if medium == "smf":
        return _SINGLE_MODE.get((speed_gbps, electrical), frozenset({electrical}))
    return frozenset({electrical})


def can_join(medium: str, speed_gbps: int, one: int, other: int) -> bool:
    """Whether ports with these electrical lanes have a link over a medium."""
    return bool(optical_lanes(medium, speed_gbps, one) & optical_lanes(medium, speed_gbps, other))
