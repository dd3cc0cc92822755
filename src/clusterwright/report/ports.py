"""Offered ports of a switch in the modes of its role, and cabled ones."""

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
    """The cabled ports, device by device: port name to speed in Gb/s. Management ports are left out."""
    ports_by_device: dict[str, dict[str, int]] = defaultdict(dict)
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            if end.side != "management":
                ports_by_device[end.device][end.port] = end.speed_gbps
    return ports_by_device


def available_ports(model: HardwareModel, in_use: Mapping[str, int]) -> int:
    """Number of logical ports of ``model`` with every block in the mode of its ports ``in_use``.

    ``in_use`` maps port names to speeds in Gb/s. A block without a used port counts at the fastest speed in use, or in
    its first mode if it has none at that speed, unless one of the two disables the other's cages.
    """
    fastest = max(in_use.values(), default=0)
    modes: dict[str, PortMode] = {}
    for block in model.blocks:
        mode_in_use = _mode_in_use(block, in_use)
        if mode_in_use is not None:
            modes[block.name] = mode_in_use
    for block in model.blocks:
        mode = block.mode(fastest) or block.modes[0]
        disabled = {used_mode.disables for used_mode in modes.values()}
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
