"""What FBOSS calls a port: its logical id and the speed profiles it supports, for the platforms in the catalogue.

Facts read from facebook/fboss, fboss/agent/platforms/common/*/*PlatformMapping.cpp and switch_config.thrift.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.hardware.models import PortBlock, PortMode

# PortProfileID by (speed in Gb/s, copper), those with the strongest error correction first.
_PROFILES: dict[tuple[int, bool], tuple[int, ...]] = {
    (400, True): (35,),
    (400, False): (26,),
    (200, True): (24,),
    (200, False): (25,),
    (100, True): (22, 46),
    (100, False): (23,),
    (50, True): (43, 21, 19),
    (50, False): (48,),
    (25, True): (16, 15, 14, 4),
    (25, False): (62, 4),
    (10, True): (11,),
    (10, False): (12,),
}

# Profiles of 100G over two lanes of 50G; the others of that speed take four.
_TWO_LANES = frozenset({40, 46})

_FUJI_EVEN = frozenset({4, 12, 22, 23, 25})
_FUJI_ODD = _FUJI_EVEN | {26, 35}
_WEDGE400_UPLINK = frozenset({18, 23, 24, 25, 26, 35})
_WEDGE400_LANE = frozenset({11, 12, 14, 15, 16, 43, 62})
_WEDGE400_HALF = _WEDGE400_LANE | {19, 21, 46, 48}
_WEDGE400_CAGE = _WEDGE400_HALF | {17, 22, 23, 24, 25}
_GRAND_TETON_OPTICAL = frozenset({23, 25})
_GRAND_TETON_COPPER = frozenset({22, 24})
_GRAND_TETON_SPLIT = _GRAND_TETON_COPPER | {35}

# Logical id of subport 1 of each odd cage, by port interface module; the even cage beside it has the next id.
_FUJI_ODD_CAGES = {
    2: (3, 17, 34, 51, 68, 85, 102, 119),
    3: (87, 70, 121, 104, 19, 1, 53, 36),
    4: (21, 5, 55, 38, 89, 72, 125, 106),
    5: (74, 91, 108, 123, 7, 23, 40, 57),
    6: (187, 170, 153, 138, 255, 238, 221, 204),
    7: (240, 257, 206, 223, 172, 189, 136, 155),
    8: (174, 191, 140, 157, 242, 261, 208, 225),
    9: (259, 244, 227, 210, 193, 176, 159, 142),
}
# Logical id of subport 1 of each cage, 1 to 48; subport n follows n - 1 later.
_WEDGE400_CAGES = (
    *(36, 37, 56, 57, 17, 18, 76, 77, 96, 97, 156, 157, 116, 117, 136, 137),
    *(20, 24, 28, 32, 40, 44, 48, 52, 1, 5, 9, 13, 60, 64, 68, 72),
    *(80, 84, 88, 92, 140, 144, 148, 152, 100, 104, 108, 112, 120, 124, 128, 132),
)
_GRAND_TETON_CAGES = (
    *(28, 32, 48, 52, 9, 13, 68, 72, 88, 92, 148, 152, 108, 112, 128, 132),
    *(20, 22, 24, 26, 40, 42, 44, 46, 1, 3, 5, 7, 60, 62, 64, 66),
    *(80, 82, 84, 86, 140, 142, 144, 146, 100, 102, 104, 106, 120, 122, 124, 126),
)


class FbossPortError(ClusterwrightError):
    """A port that the platform does not have, or that cannot run at the planned speed."""


@dataclass(frozen=True, slots=True)
class PlatformPort:
    """A port of a platform: ``logical_id`` and the PortProfileIDs it ``supports``."""

    logical_id: int
    supports: frozenset[int]

    def profile(self, name: str, speed_gbps: int, medium: str, lanes: int = 4) -> int:
        """The PortProfileID for a speed over a cable of this medium; that of the other medium where only that exists.

        At 100G a port of two ``lanes``, which shares its cage, must not claim the other two. Whether there is any
        profile does not depend on the medium.

        Raises FbossPortError when the port has no profile at this speed.
        """
        is_copper = medium in {"dac", "copper", "backplane"}
        for copper in (is_copper, not is_copper):
            for profile in _PROFILES.get((speed_gbps, copper), ()):
                if profile in self.supports and (speed_gbps != 100 or (profile in _TWO_LANES) == (lanes == 2)):
                    return profile
        raise FbossPortError(
            f"{name} has no speed profile for {speed_gbps}G in FBOSS; give the tier ports or a mode that run at it"
        )


def platform_port(platform: str | None, name: str) -> PlatformPort:
    """The port ``name`` of a platform, called as in FBOSS's PlatformType. Raises FbossPortError where there is none."""
    known = _PLATFORMS.get(platform or "")
    if known is None:
        asked = f"the FBOSS platform {platform}" if platform else "an FBOSS model without `platform`"
        raise FbossPortError(f"no port ids are known for {asked}; known are {', '.join(_PLATFORMS)}")
    port = known.get(name)
    if port is None:
        raise FbossPortError(f"the FBOSS platform {platform} has no port {name}; check the model's cages and subports")
    return port


def lanes_in(found: tuple[PortBlock, PortMode] | None) -> int:
    """The lanes of a port by its block and mode (``modes_at``); four where the model lists none."""
    return 4 if found is None else found[0].lanes(found[1])


def _fuji() -> dict[str, PlatformPort]:
    ports = {}
    for module, ids in _FUJI_ODD_CAGES.items():
        for index, logical_id in enumerate(ids):
            ports[f"eth{module}/{2 * index + 1}/1"] = PlatformPort(logical_id, _FUJI_ODD)
            ports[f"eth{module}/{2 * index + 2}/1"] = PlatformPort(logical_id + 1, _FUJI_EVEN)
    return ports


def _wedge400() -> dict[str, PlatformPort]:
    ports = {}
    for index, logical_id in enumerate(_WEDGE400_CAGES):
        lanes: tuple[frozenset[int], ...] = (_WEDGE400_UPLINK,)
        if index >= 16:
            lanes = (_WEDGE400_CAGE, _WEDGE400_LANE, _WEDGE400_HALF, _WEDGE400_LANE)
        for lane, supports in enumerate(lanes):
            ports[f"eth1/{index + 1}/{lane + 1}"] = PlatformPort(logical_id + lane, supports)
    return ports


def _grand_teton() -> dict[str, PlatformPort]:
    ports = {}
    for index, logical_id in enumerate(_GRAND_TETON_CAGES):
        cage = index + 1
        supports = _GRAND_TETON_COPPER
        if cage <= 16:
            supports = _GRAND_TETON_SPLIT if cage % 2 == 0 else _GRAND_TETON_OPTICAL
        ports[f"eth1/{cage}/1"] = PlatformPort(logical_id, supports)
        if supports is _GRAND_TETON_SPLIT:
            ports[f"eth1/{cage}/3"] = PlatformPort(logical_id + 2, _GRAND_TETON_COPPER)
    return ports


_PLATFORMS: dict[str, dict[str, PlatformPort]] = {
    "PLATFORM_FUJI": _fuji(),
    "PLATFORM_WEDGE400": _wedge400(),
    "PLATFORM_WEDGE400_GRANDTETON": _grand_teton(),
}
