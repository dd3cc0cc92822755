"""CW355: breakouts using the lanes of a neighbouring cage not stated in the model."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.model import Plan
from clusterwright.plan.ports import modes_at
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.hardware.systems import system_of


@rule("CW355", Severity.ERROR)
def unnamed_neighbours(subject: Subject) -> Iterator[Problem]:
    """Port modes in use that disable other cages, in a model without `disables`."""
    for fabric in subject.spec.fabrics:
        for index, tier in enumerate(fabric.tiers):
            modes = [mode for mode in tier.model.port_modes if _takes_more(tier, mode)]
            if not modes:
                continue
            for name in sorted(_modes_in_use(subject.plan, fabric, index, modes)):
                message = (
                    f"{tier.model.name} has the mode {name} without `disables` for the cages whose lanes it takes."
                )
                fix = "Write `disables` at this mode of the model: the switch requires these cages to be disabled."
                yield Problem((*tier.path, "model"), message, fix)


def _takes_more(tier: Tier, mode: PortMode) -> bool:
    """True if a mode uses lanes of another cage without stating it."""
    system = system_of(tier.model)
    most = None if system is None else system.most_ports_alone
    return most is not None and len(mode.subports) > most and mode.disables is None


def _modes_in_use(plan: Plan, fabric: Fabric, index: int, modes: list[PortMode]) -> set[str]:
    tier = fabric.tiers[index]
    mode_names: set[str] = set()
    for cable in plan.cables:
        for end in (cable.a, cable.b):
            device = plan.by_name.get(end.device)
            if device is None or (device.fabric, device.tier) != (fabric.name, index):
                continue
            side = tier.up.side if end.side == "up" and tier.up is not None else tier.down
            block_and_mode = modes_at(tier.model, side, end.speed_gbps).get(end.port)
            if block_and_mode is not None and block_and_mode[1] in modes:
                mode_names.add(block_and_mode[1].name)
    return mode_names
