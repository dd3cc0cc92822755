"""CW7xx: power, space and cabling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Stage, Subject, rule

# Passive copper at these speeds reaches no further (IEEE 802.3: 2 m at 100G a lane, 3 m at 50G, 5 m at 25G).
DAC_LIMIT_M = 5.0


@rule(
    code="CW701",
    severity=Severity.ERROR,
    title="rack overfull",
    why="What does not fit cannot be delivered.",
    mend="Put fewer nodes into a rack, or choose higher racks.",
    stage=Stage.SKELETON,
)
def overfull_rack(subject: Subject) -> Iterator[Problem]:
    """Heights of a rack's nodes and rack switches against the rack."""
    spec = subject.spec
    switches: dict[str, float] = defaultdict(float)
    for fabric in spec.fabrics:
        served = {attach.nodes for attach in fabric.attach}
        for group in spec.node_groups:
            if group.name in served or None in served:
                switches[group.name] += sum(
                    ceil(tier.model.units) * tier.count for tier in fabric.tiers if tier.per == "rack"
                )
    for group in spec.node_groups:
        level = group.levels[0]
        if level.name != "rack":
            continue
        nodes = min(level.of, group.count)
        units = nodes * ceil(group.model.units) + switches[group.name]
        if units > spec.site.rack_units:
            yield Problem(
                (*level.path, "of"),
                f"{nodes} {group.model.name} and the rack switches take {units:g} units of {spec.site.rack_units}.",
                "Put fewer into a rack, or choose higher racks.",
            )


@rule(
    code="CW702",
    severity=Severity.ERROR,
    title="copper too long",
    why="Passive copper does not carry the signal that far; the link stays down.",
    mend="Use aoc, mmf or smf.",
)
def copper_too_long(subject: Subject) -> Iterator[Problem]:
    """Direct-attach cables longer than copper reaches."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            for side in (tier.down, tier.up.side if tier.up else None):
                if side and side.medium == "dac" and side.length_m > DAC_LIMIT_M:
                    yield Problem(
                        (*side.path, "length_m"),
                        f"Direct-attach copper does not reach {side.length_m:g} m.",
                        "Use aoc, mmf or smf, or shorter cables.",
                    )
