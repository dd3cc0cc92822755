"""Whether the platform of a switch has the ports that its model lists and a plan uses.

Some systems know ports by more than their names: by ids and speed profiles, by lanes. Where a platform lacks them
nothing can be written for the switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.plan.ports import Allocation, modes_at, spare_ports
from clusterwright.spec.fabric import Tier
from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.hardware.platform_ports import PlatformPortError
from clusterwright.spec.hardware.systems import system_of

LANES = 4  # of a port whose model lists no mode at its speed


def platform_faults(tier: Tier, allocation: Allocation, down_speeds: Sequence[int]) -> Iterator[str]:
    """What stands in the way of writing the ports of a switch of this tier: a sentence for each port and reason.

    ``down_speeds`` are those of ``allocation.down`` in Gb/s. A system that knows ports by name alone has no faults.
    """
    system = system_of(tier.model)
    if system is None or not system.ports_of_platform:
        return
    sides = [(port, speed, tier.down) for port, speed in zip(allocation.down, down_speeds, strict=True)]
    if tier.up is not None:
        sides += [(port, tier.up.speed_gbps, tier.up.side) for port in allocation.up]
    modes = {(id(side), speed): modes_at(tier.model, side, speed) for _, speed, side in sides}
    found = [(port, speed, modes[id(side), speed].get(port)) for port, speed, side in sides]
    asked: list[tuple[str, PortMode | None, int, int]] = [
        (port, None, speed, LANES) if each is None else (port, each[1], speed, each[0].lanes(each[1]))
        for port, speed, each in found
    ]
    if system.writes_spare_ports:
        used = {port: mode for port, mode, _, _ in asked}
        asked += [(port, mode, 0, 0) for port, mode in spare_ports(tier.model, used)]  # never in service, at no speed
    faults: dict[str, None] = {}
    for port, mode, speed, lanes in asked:
        try:
            known = tier.model.platform_port(port, mode)
            if known.profiles and speed:
                # Which media a speed has profiles for decides which is taken, never whether there is one.
                known.profile(port, speed, "dac", lanes)
        except PlatformPortError as error:
            faults[str(error)] = None
    yield from faults
