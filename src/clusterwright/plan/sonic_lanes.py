"""What SONiC calls a port's lanes: facts of the platform, for the hardware SKUs in the catalogue.

Read from port_config.ini and platform.json of sonic-net/sonic-buildimage.
"""

from __future__ import annotations

from clusterwright.finding import ClusterwrightError

LANES = 8
_PREFIX = "Ethernet"

# The first of the eight lanes of Ethernet0, Ethernet8, ... Ethernet504, by hardware SKU.
_FIRST_LANES = {
    "Arista-7060X6-64PE-64x400G": (
        *(17, 1, 9, 25, 57, 41, 33, 49, 89, 73, 65, 81, 121, 105, 97, 113),
        *(153, 137, 129, 145, 185, 169, 161, 177, 217, 201, 193, 209, 249, 233, 225, 241),
        *(273, 257, 265, 281, 313, 297, 289, 305, 345, 329, 321, 337, 377, 361, 353, 369),
        *(409, 393, 385, 401, 441, 425, 417, 433, 473, 457, 449, 465, 505, 489, 481, 497),
    )
}


class SonicPortError(ClusterwrightError):
    """A hardware SKU without known lanes, or a port that it does not have."""


def port_lanes(platform: str | None, name: str) -> tuple[int, range]:
    """The place of a port on its platform, from 0, and its lanes. Raises SonicPortError where there is none."""
    first = _FIRST_LANES.get(platform or "")
    if first is None:
        asked = f"the SONiC platform {platform}" if platform else "a SONiC model without `platform`"
        raise SonicPortError(f"no lanes are known for {asked}; known are {', '.join(_FIRST_LANES)}")
    number = name.removeprefix(_PREFIX)
    index = int(number) // LANES if number.isdecimal() else len(first)
    if index >= len(first) or name != f"{_PREFIX}{index * LANES}":
        raise SonicPortError(f"the SONiC platform {platform} has no port {name}; check the model's cages and subports")
    return index, range(first[index], first[index] + LANES)
