"""Whether the platform of a switch has the ports that its model lists and a plan uses.

Some systems know ports by more than their names: FBOSS by ids and speed profiles, SONiC by lanes. Where a platform
lacks them nothing can be written for the switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.plan.fboss_ports import FbossPortError, lanes_in, platform_port
from clusterwright.plan.ports import Allocation, modes_at, spare_ports
from clusterwright.plan.sonic_lanes import SonicPortError, port_lanes
from clusterwright.spec.fabric import Side, Tier
from clusterwright.spec.hardware.models import HardwareModel

# A link as a switch sees it: port, speed in Gb/s, and the side of the tier that it belongs to.
_Use = tuple[str, int, Side]


def platform_faults(tier: Tier, allocation: Allocation, down_speeds: Sequence[int]) -> Iterator[str]:
    """What stands in the way of writing the ports of a switch of this tier: a sentence for each port and reason.

    ``down_speeds`` are those of ``allocation.down`` in Gb/s. A system that knows ports by name alone has no faults.
    """
    faults = _FAULTS.get(tier.model.network_os or "")
    if faults is None:
        return
    uses = [(port, speed, tier.down) for port, speed in zip(allocation.down, down_speeds, strict=True)]
    if tier.up is not None:
        uses += [(port, tier.up.speed_gbps, tier.up.side) for port in allocation.up]
    yield from dict.fromkeys(faults(tier.model, uses))


def _fboss(model: HardwareModel, uses: Sequence[_Use]) -> Iterator[str]:
    modes = {(side, speed): modes_at(model, side, speed) for _, speed, side in uses}
    for port, speed, side in uses:
        found = modes[side, speed].get(port)
        try:
            # Which media a speed has profiles for decides which is taken, never whether there is one.
            platform_port(model.platform, port).profile(port, speed, "dac", lanes_in(found))
        except FbossPortError as error:
            yield str(error)


def _sonic(model: HardwareModel, uses: Sequence[_Use]) -> Iterator[str]:
    used = {port: speed for port, speed, _ in uses}
    for port in (*used, *spare_ports(model, used)):  # SONiC is told of every port, used or not
        try:
            port_lanes(model.platform, port)
        except SonicPortError as error:
            yield str(error)


_FAULTS = {"fboss": _fboss, "sonic": _sonic}
