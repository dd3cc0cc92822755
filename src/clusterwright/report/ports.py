"""How many ports a switch offers in the modes that its role uses, and how many of them carry a cable."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Plan
    from clusterwright.spec.hardware.cages import PortBlock, PortMode
    from clusterwright.spec.hardware.models import HardwareModel


def used_ports(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    """The ports that carry a cable, device by device: port name to speed in Gb/s. Management ports are left out."""
    ports_by_device: dict[str, dict[str, int]] = defaultdict(dict)
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            if end.side != "management":
                ports_by_device[end.device][end.port] = end.speed_gbps
    return ports_by_device


def available_ports(model: HardwareModel, in_use: Mapping[str, int]) -> int:
    """How many logical ports ``model`` offers when every block runs in the mode that ``in_use`` shows for it.

    ``in_use`` maps port names to speeds in Gb/s. A block without a used port counts at the fastest speed in use, or in
    its first mode when it has none at that speed, unless one of the two costs the other its cages.
    """
    fastest = max(in_use.values(), default=0)
    modes = {block.name: mode for block in model.blocks if (mode := _mode_in_use(block, in_use)) is not None}
    for block in model.blocks:
        mode = block.mode(fastest) or block.modes[0]
        disabled = {other.disables for other in modes.values()}
        if block.name not in modes and block.name not in disabled and mode.disables not in modes:
            modes[block.name] = mode
    return sum(len(block.cages) * len(modes[block.name].subports) for block in model.blocks if block.name in modes)


def _mode_in_use(block: PortBlock, in_use: Mapping[str, int]) -> PortMode | None:
    votes: Counter[str] = Counter()
    for mode in block.modes:
        ports = chain.from_iterable(map(mode.ports, block.cages))
        votes[mode.name] += sum(in_use.get(port) == mode.speed_gbps for port in ports)
    best = max(votes.values(), default=0)
    if not best:
        return None
    return next(mode for mode in block.modes if votes[mode.name] == best)
