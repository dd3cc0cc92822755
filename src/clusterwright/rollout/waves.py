"""Plan the waves of a change: canaries first, then no more at once than the policy allows.

A pure function of the plan, of the changes, and of the policy. Waves keep the order of the stacks (the layer above
the pods, then pod by pod) and never reach over two of them. Within a stack units are packed first-fit: a unit joins the
earliest wave of its kind in which every rack outside still keeps its bandwidth, and in which other members of its group
of services stay up.

If nodes go out of service, or are drained with their switch, controllers of their Slurm change ahead of everything:
jobs have to end before their ports are shut.

Waves of a kind grow: after the canaries a twentieth of its units, then a quarter, then the rest; and no wave changes
more than half of a group of devices that replace each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.deploy.pulumi.units import Stack, Unit
from clusterwright.device_files.effect import Effect

if TYPE_CHECKING:  # imported only for a change: without one, there is no plan and no path to count
    from clusterwright.plan.model import Device, Plan
    from clusterwright.rollout.bandwidth import RackWays
    from clusterwright.spec.rollout import RolloutPolicy

EPSILON = 1e-9
GROWTH = (0.05, 0.25, 1.0)
"""Most units of the waves behind the canaries, as shares of the kind's units; the last share repeats."""
COMPUTE = "node"  # the role of compute nodes


@dataclass(frozen=True, slots=True)
class Wave:
    """Units changed at the same time.

    ``layer`` is the stack's; ``kind`` that of the units. ``devices`` are the changed devices, ``disturbed`` the racks
    among the units, ``bandwidth_left`` the least remaining share of another rack's uplinks (``worst_rack`` on
    ``worst_fabric``). ``breaks`` is the limit of the policy that no wave could keep, "" if all are kept.
    """

    layer: str
    kind: str
    is_canary: bool
    units: tuple[str, ...]
    devices: tuple[str, ...]
    effect: Effect
    disturbed: tuple[str, ...]
    bandwidth_left: float
    worst_rack: str
    worst_fabric: str
    breaks: str


def plan_waves(
    plan: Plan, stacks: Iterable[Stack], changes: Mapping[str, Effect], policy: RolloutPolicy
) -> tuple[Wave, ...]:
    """The waves of ``changes`` (the effect on each changed device) over ``stacks``, in order.

    Every changed unit is in exactly one wave.
    """
    if not changes:
        return ()
    pending: list[tuple[Stack, list[Unit]]] = []
    pending_units: list[Unit] = []
    for stack in stacks:
        changed_units = [unit for unit in stack.units if not changes.keys().isdisjoint(unit.devices)]
        pending.append((stack, changed_units))
        pending_units.extend(changed_units)
    packing = _Packing(plan, changes, policy, Counter(unit.kind for unit in pending_units))
    canaries = {unit.name for unit in _canaries(plan, pending_units, changes, policy.canaries)}
    controllers = _draining_controllers(plan, changes)
    ahead = {unit.name for unit in pending_units if not controllers.isdisjoint(unit.devices)}
    waves: list[Wave] = []
    for stack, units in pending:
        chosen = [unit for unit in units if unit.name in ahead]
        waves += packing.waves(stack.layer, chosen, is_canary=False)
    for is_canary in (True, False):
        for stack, units in pending:
            chosen = [unit for unit in units if unit.name not in ahead and (unit.name in canaries) is is_canary]
            waves += packing.waves(stack.layer, chosen, is_canary=is_canary)
    return tuple(waves)


def leaving_nodes(plan: Plan, changes: Collection[str]) -> dict[str, frozenset[str]]:
    """Nodes that may lose their path by a switch of ``changes``, by that switch.

    A switch shuts the ports of nodes out of service; of drained nodes only a drained switch, or one out of service.
    """
    from clusterwright.plan.service import ACTIVE, OUT_OF_SERVICE  # an update without changes loads no plan

    nodes: dict[str, frozenset[str]] = {}
    for device in plan.devices:
        if device.kind != "node" or device.state == ACTIVE:
            continue
        for cable in plan.cables_of.get(device.name, ()):
            for end in (cable.a.device, cable.b.device):
                if end == device.name or end not in changes:
                    continue
                if device.state == OUT_OF_SERVICE or plan.by_name[end].state != ACTIVE:
                    nodes[end] = nodes.get(end, frozenset()) | {device.name}
    return nodes


def _draining_controllers(plan: Plan, changes: Collection[str]) -> frozenset[str]:
    """Changed controllers of a Slurm, if nodes may lose their path: Slurm drains these nodes first."""
    if not leaving_nodes(plan, changes):
        return frozenset()
    from clusterwright.intent.scheduling import controllers

    changed: set[str] = set()
    for scheduler in plan.spec.schedulers:
        if scheduler.slurm is not None:
            changed.update(name for name in controllers(plan, scheduler) if name in changes)
    return frozenset(changed)


def _canaries(plan: Plan, pending: list[Unit], changes: Mapping[str, Effect], count: int) -> Iterator[Unit]:
    """The first ``count`` units with the same kind and the same roles, models and images of changed devices.

    Without more such units than that there is no canary: its wave would be all of them.
    """
    units = [(unit, _signature(plan, unit, changes)) for unit in pending]
    total = Counter(signature for _, signature in units)
    taken: Counter[object] = Counter()
    for unit, signature in units:
        if total[signature] > count > taken[signature]:
            taken[signature] += 1
            yield unit


def _signature(plan: Plan, unit: Unit, changes: Mapping[str, Effect]) -> object:
    changed = (plan.by_name[name] for name in unit.devices if name in changes)
    return unit.kind, frozenset((device.role, device.model, device.image) for device in changed)


@dataclass(frozen=True, slots=True)
class _OpenWave:
    """A wave being filled: the devices away, the changed racks, and the number of members away, by service.

    ``touched`` counts the changed devices, away or not, by their group (``_group_of``).
    """

    units: tuple[Unit, ...]
    down: frozenset[str]
    racks: frozenset[str]
    services: Counter[str]
    touched: Counter[_Group]

    def joined(self, other: _OpenWave) -> _OpenWave:
        """Both waves as one."""
        return _OpenWave(
            units=(*self.units, *other.units),
            down=self.down | other.down,
            racks=self.racks | other.racks,
            services=self.services + other.services,
            touched=self.touched + other.touched,
        )


_Group = tuple[str, ...]


def _group_of(plan: Plan, device: Device) -> _Group:
    """The key of a device and its replacements: upper switches of a tier and pod, machines of a group of services.

    () for a device without a replacement: a switch at the bottom, a compute node.
    """
    if device.kind == "switch":
        return (device.fabric, device.role, device.pod) if plan.level(device) > 0 else ()
    return () if device.role == COMPUTE else (device.node_group,)


class _Packing:
    """Packs units of one stack at a time."""

    def __init__(
        self, plan: Plan, changes: Mapping[str, Effect], policy: RolloutPolicy, totals: Mapping[str, int]
    ) -> None:
        self._plan = plan
        self._changes = changes
        self._policy = policy
        from clusterwright.rollout.bandwidth import ways_of

        self._ways: RackWays = ways_of(plan)
        self._totals = totals
        self._waves_of: Counter[str] = Counter()  # behind the canaries, by kind
        self._groups = Counter(_group_of(plan, device) for device in plan.devices if device.state == "active")
        self._members = Counter(
            device.node_group for device in plan.devices if device.kind == "node" and device.state == "active"
        )

    def waves(self, layer: str, units: Iterable[Unit], *, is_canary: bool) -> Iterator[Wave]:
        """The waves of ``units``, kind by kind in the order of their first unit."""
        by_kind: dict[str, list[Unit]] = {}
        for unit in units:
            by_kind.setdefault(unit.kind, []).append(unit)
        for kind, members in by_kind.items():
            opened_waves = self._pack(members, is_canary=is_canary)
            if not is_canary:
                self._waves_of[kind] += len(opened_waves)
            for opened in opened_waves:
                yield self._closed(layer, kind, opened, is_canary=is_canary)

    def _most_units(self, kind: str, wave: int) -> int:
        """Most units of a kind's wave after ``wave`` further ones."""
        share = GROWTH[min(self._waves_of[kind] + wave, len(GROWTH) - 1)]
        return max(1, int(share * self._totals[kind]))

    def _pack(self, units: list[Unit], *, is_canary: bool) -> list[_OpenWave]:
        full: list[_OpenWave] = []  # of one unit that breaks a limit on its own: no other unit joins
        open_waves: list[_OpenWave] = []
        for unit in units:
            alone = self._alone(unit)
            if self._broken(alone):
                full.append(alone)
                continue
            for index, opened in enumerate(open_waves):
                if len(opened.racks | alone.racks) > self._policy.racks_at_once:
                    continue
                if not is_canary and len(opened.units) >= self._most_units(unit.kind, index):
                    continue
                joined = opened.joined(alone)
                if self._takes_too_many(joined):
                    continue
                if joined.down == opened.down or not self._broken(joined):
                    open_waves[index] = joined
                    break
            else:
                open_waves.append(alone)
        place = {unit.name: index for index, unit in enumerate(units)}
        return sorted([*open_waves, *full], key=lambda wave: place[wave.units[0].name])

    def _alone(self, unit: Unit) -> _OpenWave:
        """A wave of one unit: its devices with more than a live change are away for a while."""
        away = [name for name in unit.devices if self._changes.get(name, Effect.LIVE) > Effect.LIVE]
        members = (self._plan.by_name[name] for name in away)
        return _OpenWave(
            units=(unit,),
            down=frozenset(away),
            racks=frozenset({unit.name} if away and unit.kind == "rack" else ()),
            # Machines of services and storage replace each other; compute nodes do not.
            services=Counter(
                device.node_group for device in members if device.kind == "node" and device.role != COMPUTE
            ),
            touched=self._touched(unit),
        )

    def _touched(self, unit: Unit) -> Counter[_Group]:
        changed = (self._plan.by_name[name] for name in unit.devices if name in self._changes)
        groups = Counter(_group_of(self._plan, device) for device in changed)
        groups.pop((), None)
        return groups

    def _takes_too_many(self, wave: _OpenWave) -> bool:
        """Whether a wave changes more than half of a group at once."""
        return any(count > max(1, self._groups[group] // 2) for group, count in wave.touched.items())

    def _broken(self, wave: _OpenWave) -> str:
        """The limit of the policy broken by the wave; "" if it keeps all."""
        for group, count in sorted(wave.services.items()):
            members = self._members[group]
            if count > members // 2:
                return f"{members - count} of {members} of {group} are left while it lasts"
        floor = self._policy.min_bandwidth_percent / 100
        share, rack, fabric = self._ways.worst(wave.down, wave.racks)
        if share + EPSILON < floor:
            return f"{rack} keeps {share:.0%} of its uplink bandwidth on {fabric}, below {floor:.0%}, in any split"
        return ""

    def _closed(self, layer: str, kind: str, wave: _OpenWave, *, is_canary: bool) -> Wave:
        members = chain.from_iterable(unit.devices for unit in wave.units)
        devices = tuple(name for name in members if name in self._changes)
        share, rack, fabric = self._ways.worst(wave.down, wave.racks)
        return Wave(
            layer=layer,
            kind=kind,
            is_canary=is_canary,
            units=tuple(unit.name for unit in wave.units),
            devices=devices,
            effect=max(self._changes[name] for name in devices),
            disturbed=tuple(sorted(wave.racks)),
            bandwidth_left=share,
            worst_rack=rack,
            worst_fabric=fabric,
            breaks=self._broken(wave),
        )
