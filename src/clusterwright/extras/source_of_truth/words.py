"""Values of NetBox and Nautobot: types of interfaces and cables, states, slugs.

Sources: the choices in ``netbox/dcim/choices.py`` and ``nautobot/dcim/choices.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.lists.interfaces import ListedInterface
    from clusterwright.spec.hardware.models import HardwareModel

# Interface types of a cage by its highest speed in Gb/s. The type names the transceiver form, not the current speed.
_CAGES = {
    "rj45": {1: "1000base-t", 5: "5gbase-t", 10: "10gbase-t"},
    "sfp": {1: "1000base-x-sfp"},
    "sfp+": {10: "10gbase-x-sfpp"},
    "sfp28": {25: "25gbase-x-sfp28"},
    "sfp56": {50: "50gbase-x-sfp56"},
    "qsfp+": {40: "40gbase-x-qsfpp"},
    "qsfp28": {100: "100gbase-x-qsfp28"},
    "qsfp56": {200: "200gbase-x-qsfp56"},
    "qsfp112": {400: "400gbase-x-qsfp112"},
    "qsfp-dd": {100: "100gbase-x-qsfpdd", 200: "200gbase-x-qsfpdd", 400: "400gbase-x-qsfpdd", 800: "800gbase-x-qsfpdd"},
    "osfp": {400: "400gbase-x-osfp", 800: "800gbase-x-osfp"},
}
OTHER = "other"
# Data rate of four lanes in Gb/s, as the InfiniBand Trade Association names the generations.
_GENERATIONS = {10: "sdr", 20: "ddr", 40: "qdr", 56: "fdr", 100: "edr", 200: "hdr", 400: "ndr", 800: "xdr"}
_LANES = 4
CABLES = {
    "dac": "dac-passive",
    "aoc": "aoc",
    "mmf": "mmf",
    "smf": "smf",
}  # not copper: its category is unknown
# A drained device is installed and carries no traffic ("installed but not currently in service").
STATES = {"active": "active", "drained": "offline", "out-of-service": "failed"}


def slug(text: str) -> str:
    """A name as part of a URL: lower case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def interface_type(interface: ListedInterface, model: HardwareModel, *, by_lanes: bool) -> str:
    """The type of an interface; ``other`` for one without a matching type.

    With ``by_lanes``, an InfiniBand port on two of its lanes has another type than one on all four.
    """
    properties = interface.properties
    if properties.kind in ("virtual", "lag"):
        return properties.kind
    speed = properties.speed_gbps or 0
    if properties.technology == "infiniband":
        return _infiniband(speed, _four_lanes(interface, model), by_lanes=by_lanes)
    connector = properties.connector
    if connector is None and speed == 1:
        connector = "rj45"
    type_by_speed = _CAGES.get(connector or "", {})
    for highest_speed in sorted(type_by_speed):
        if highest_speed >= speed:
            return type_by_speed[highest_speed]
    return OTHER


def _infiniband(speed: int, four_lanes: int, *, by_lanes: bool) -> str:
    generation = _GENERATIONS.get(four_lanes)
    if generation is None:
        return OTHER
    lanes = speed * _LANES // four_lanes
    return f"infiniband-{generation}" + (f"-{lanes}x" if by_lanes and lanes > 1 else "")


def _four_lanes(interface: ListedInterface, model: HardwareModel) -> int:
    """The rate of four lanes in Gb/s: the fastest mode of a switch's cages, an adapter's own speed."""
    for group in model.nic_groups:
        if any(nic.interface == interface.name for nic in group.nics):
            return group.speed_gbps
    fastest = 0
    for block in model.blocks:
        for mode in block.modes:
            fastest = max(fastest, mode.speed_gbps)
    return fastest
