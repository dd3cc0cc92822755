"""CW692: switch models whose platform has not the ports that would be written for them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.platforms import platform_faults
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW692", Severity.ERROR)
def platform_lacks_ports(subject: Subject) -> Iterator[Problem]:
    """Tiers with a switch whose ports its platform does not have, or not at their speed; one problem for each tier."""
    for skeleton, allocations in subject.allocations:
        faults: dict[int, dict[str, None]] = {}
        known = set()
        for seat, allocation, speeds in zip(skeleton.seats, allocations, skeleton.links_down, strict=True):
            key = (seat.tier, allocation.down, allocation.up, tuple(speeds))
            if key not in known:
                known.add(key)
                found = platform_faults(skeleton.fabric.tiers[seat.tier], allocation, speeds)
                faults.setdefault(seat.tier, {}).update(dict.fromkeys(found))
        for at, sentences in sorted(faults.items()):
            if sentences:
                tier = skeleton.fabric.tiers[at]
                first, *others = sentences
                more = f" So it is with {len(others)} more of its ports." if others else ""
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.model.name} of {tier.role} cannot be written: {first}.{more}",
                    "Take a model of a known platform, or mend the ports, modes or `platform` of this one.",
                )
