"""CW707 and CW708: the power of a rack's devices, compared with the rack's limit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.racks.filling import Racks
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import RACK, Level, NodeGroup


@rule("CW707", Severity.ERROR)
def overdrawn_rack(subject: Subject) -> Iterator[Problem]:
    """Racks with more power drawn by their devices than the limit."""
    spec = subject.spec
    limit_w = spec.site.rack_power_w
    if limit_w is None:
        return
    racks = subject.racks
    group_of = {group.name: group.node_group for group in subject.skeleton.layout.groups}
    overdrawn: dict[str, list[str]] = defaultdict(list)
    for rack in racks.contents:
        if racks.is_rack(rack) and racks.power_w(rack) > limit_w:
            overdrawn[group_of.get(rack, "")].append(rack)
    for name, rack_names in overdrawn.items():
        fullest = max(rack_names, key=racks.power_w)
        message = f"{_draw(racks, fullest)}; a rack may draw {limit_w:,} W."
        if len(rack_names) > 1:
            message += f" {len(rack_names)} racks of {name or 'switches'} draw more than that."
        group = spec.node_group(name)
        level = _rack_level(group)
        if group is None or level is None:
            hint = "Choose models that draw less, or give racks more power."
            yield Problem((*spec.site.path, "rack_power_w"), message, hint)
        else:
            yield Problem((*level.path, "of"), message, _how_many(racks, fullest, group, limit_w))


def _rack_level(group: NodeGroup | None) -> Level | None:
    levels = group.levels if group is not None else ()
    for level in levels:
        if level.name == RACK:
            return level
    return None


def _draw(racks: Racks, rack: str) -> str:
    """A clause on a rack's power, by model."""
    models = Counter((model.name, model.power_w) for model in racks.contents[rack])
    parts = [f"{count} {name} of {watts:,} W" for (name, watts), count in models.items() if watts]
    return f"{rack} draws {racks.power_w(rack):,} W: {', '.join(parts)}"


def _how_many(racks: Racks, rack: str, group: NodeGroup, limit_w: int) -> str:
    """A hint with the number of a group's nodes within a rack's power, beside its other devices."""
    nodes_w = sum(model.power_w for model in racks.contents[rack] if model == group.model)
    beside_w = racks.power_w(rack) - nodes_w
    most = (limit_w - beside_w) // group.model.power_w if group.model.power_w else 0
    if most < 1:
        return "Choose models that draw less, or give racks more power."
    return f"Put no more than {most} {group.model.name} into a rack, or give racks more power."


@rule("CW708", Severity.WARNING)
def power_not_checked(subject: Subject) -> Iterator[Problem]:
    """Devices outside every rack's sum, in a spec with a limit on the power of racks."""
    spec = subject.spec
    if spec.site.rack_power_w is None:
        return
    racks = subject.racks
    outside: Counter[int] = Counter()
    for slot in subject.skeleton.layout.nodes:
        if not racks.is_rack(racks.places[slot.name][0]):
            outside[slot.node_group] += 1
    for index, count in sorted(outside.items()):
        group = spec.node_groups[index]
        yield Problem(
            (*group.path, "name"),
            f"{count:,} {group.name} are in no level called {RACK}: no rack's sum counts them.",
            f"Give them a level {RACK}, or place them `inside` a group with one.",
        )
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if not tier.model.has_power:
                message = f"{tier.role} of {fabric.name} has no power in the catalogue: no rack's power counts it."
                yield Problem((*fabric.path, "name"), message, "Plan its power with its operator.")
