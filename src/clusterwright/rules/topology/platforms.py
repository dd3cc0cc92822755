"""CW692: switch models whose platform has not the ports that would be written for them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.platforms import platform_faults
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="CW692",
    severity=Severity.ERROR,
    title="model whose platform lacks its ports",
    why="Nothing can be written for the switch: its system knows ports by more than their names, and not these.",
    mend="Name a model of a platform that is known, or list in the model the ports and speeds that its platform has.",
    docs="FBOSS wants an id and a speed profile for each port, SONiC its lanes. Which there are is a fact of the"
    " platform that the model names with `platform`: FBOSS's PlatformType (`PLATFORM_FUJI`), SONiC's hardware SKU"
    " (`ACS-SN5600`). inventory/hardware/platforms has those that are known, and for SONiC `platform_file` names the"
    " vendor's own `platform.json` or `port_config.ini` of any other. The catalogue's models keep to them; a model of"
    " one's own may not. FBOSS is asked about the ports that have cables, at their speed; SONiC about all ports of the"
    " model, since the others are written too.",
)
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
