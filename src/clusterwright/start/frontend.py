"""Tiers of the frontend and management fabrics of a requested cluster."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from clusterwright.plan.ports import capacity
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.hardware.systems import system_of
from clusterwright.start.fit import fits, speeds
from clusterwright.start.sizing_request import CannotSizeError, SizedTier

LOWEST_SWITCH_UNITS = 4  # taller ones stand in rows, not in racks of nodes
_ACCESS = "dcs-7010tx-48"  # copper for BMCs and management ports
# Models above the access switches: for up to 80, 128 and 256 of them.
_ABOVE = ("dcs-7050sx3-48yc8", "sn4700-sonic", "as9736-64d-sonic")
_MANAGEMENT_GBPS = 25


def needs_chip_settings(model: HardwareModel) -> bool:
    """True for switches that start only with settings supplied by their vendor (CW434)."""
    system = system_of(model)
    return system is not None and system.needs_chip_settings


def frontend_tiers(
    racks: Sequence[tuple[HardwareModel, int]], count: int, catalogue: Catalogue, beside: HardwareModel
) -> tuple[SizedTier, ...]:
    """A leaf for each of ``count`` racks under two spines; ``racks`` has the machines of each kind of rack.

    Systems of the backend's leaves come first, then low switches. Raises CannotSizeError.
    """
    loads = []
    for model, machines in racks:
        nics = model.nic_group("frontend")
        if nics is None or "ethernet" not in model.technology:
            raise CannotSizeError(f"{model.name} has no frontend NICs for an Ethernet fabric. Name another model.")
        loads.append((nics.speed_gbps, len(nics.nics) * machines))
    switches = [model for model in catalogue.values() if model.blocks and "ethernet" in model.technology]
    switches.sort(key=lambda model: (model.network_os != beside.network_os, needs_chip_settings(model), model.units))
    for leaf in switches:
        if leaf.units > LOWEST_SWITCH_UNITS:
            continue
        for spine in switches:
            speed = _frontend_uplink_speed(leaf, spine, loads, count)
            if speed is None:
                continue
            lowest = SizedTier(
                role="rsw",
                model=leaf,
                per="rack",
                join="all",
                count=1,
                switches=count,
                up_links=2,
                up_speed_gbps=speed,
            )
            return lowest, SizedTier(role="ssw", model=spine, per="cluster", join="all", count=2, switches=2)
    raise CannotSizeError(f"No Ethernet switches of the catalogue serve {count} racks of the frontend.")


def _frontend_uplink_speed(
    leaf: HardwareModel, spine: HardwareModel, loads: Sequence[tuple[int, int]], leaves: int
) -> int | None:
    """The best speed for two uplinks of a leaf with any of ``loads``; None if ports are too few."""
    for speed in speeds(leaf, spine, 400):
        fits_leaves = all(fits(leaf, [load], speed, 2) for load in loads)
        if fits_leaves and fits(spine, [(speed, leaves)], 0, 0):
            return speed
    return None


def management_tiers(devices: int, catalogue: Catalogue) -> tuple[SizedTier, ...]:
    """Copper switches for the management ports of ``devices``, and two switches above them. Raises CannotSizeError."""
    access = catalogue[_ACCESS]
    ports = capacity(access, (), 1)
    if devices <= ports:
        return (SizedTier(role="mgmt", model=access, per="cluster", join="all", count=1, switches=1),)
    # The switches above and the access switches have management ports too.
    count = ceil((devices + 2) / (ports - 2))
    above = _first_above(count, catalogue)
    if above is None:
        raise CannotSizeError(f"{devices} devices need {count} management switches, more than two {_ABOVE[-1]} join.")
    lowest = SizedTier(
        role="mgmt",
        model=access,
        per="cluster",
        join="all",
        count=count,
        switches=count,
        up_links=2,
        up_speed_gbps=_MANAGEMENT_GBPS,
    )
    return lowest, SizedTier(role="mgmtagg", model=above, per="cluster", join="all", count=2, switches=2)


def _first_above(access_switches: int, catalogue: Catalogue) -> HardwareModel | None:
    """The first model with ports for an uplink of every access switch; None without one."""
    for name in _ABOVE:
        if fits(catalogue[name], [(_MANAGEMENT_GBPS, access_switches)], 0, 0):
            return catalogue[name]
    return None
