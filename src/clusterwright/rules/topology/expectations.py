"""CW203, CW204, CW212: figures that the plan must meet, that ought to be declared, or that do not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from clusterwright.finding import Severity
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW203", Severity.ERROR)
def expectation_missed(subject: Subject) -> Iterator[Problem]:
    """Expectations against the figures that the skeleton gives."""
    for item in subject.spec.expectations:
        planned = subject.figures.get(item.figure)
        if planned is None:
            continue
        if abs(planned - item.value) > item.tolerance * abs(item.value) + 1e-9:
            within = f" within {item.tolerance:.1%}" if item.tolerance else ""
            yield Problem(
                (*item.path, "value"),
                f"{item.figure} is planned as {_number(planned)}, expected {_number(item.value)}{within}.",
                f"The figure comes from: {item.source or item.assumed}",
            )


def _number(value: float) -> str:
    """A figure as people write it: counts in full, ratios with four digits."""
    return f"{value:.0f}" if value == round(value) else f"{value:.4g}"


@rule("CW204", Severity.ERROR)
def undeclared_oversubscription(subject: Subject) -> Iterator[Problem]:
    """RDMA fabrics with less bandwidth above a tier than NICs below it, without an expectation that says so."""
    declared = {item.figure for item in subject.spec.expectations}
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        if fabric.technology == "ethernet":
            continue
        worst = _narrowest(skeleton)
        for depth, tier in enumerate(fabric.tiers):
            name = f"oversubscription.{fabric.name}.{tier.role}"
            if tier.up is None or name in declared:
                continue
            overall = subject.figures.get(name, 0)
            switch, ratio = worst.get(depth, ("", 0.0))
            if overall > 1 + 1e-9:
                yield Problem(
                    (*tier.up.path, "links"),
                    f"Above {tier.role} there is {overall:.2f} times less bandwidth than its NICs have.",
                    f"Add uplinks, or expect {name} with its reason.",
                )
            elif ratio > 1 + 1e-9:
                yield Problem(
                    (*tier.up.path, "links"),
                    f"Above {switch} there is {ratio:.2f} times less bandwidth than its NICs have, "
                    f"though not above {tier.role} on the whole.",
                    f"Add uplinks, or expect {name} with its reason.",
                )


def _narrowest(skeleton: FabricSkeleton) -> dict[int, tuple[str, float]]:
    """By tier the switch with the most NIC bandwidth for each Gb/s of its uplinks, and that ratio."""
    gbps: Counter[int] = Counter()
    for attachment in skeleton.attachments:
        gbps[attachment.seat] += attachment.speed_gbps
    found: dict[int, tuple[str, float]] = {}
    for number, below in gbps.items():
        seat = skeleton.seats[number]
        up = skeleton.fabric.tiers[seat.tier].up
        ratio = below / (up.links * up.speed_gbps) if up else 0.0
        if ratio > found.get(seat.tier, ("", 0.0))[1]:
            found[seat.tier] = (seat.name, ratio)
    return found


@rule("CW212", Severity.ERROR)
def unknown_figure(subject: Subject) -> Iterator[Problem]:
    """Expectations whose name is no figure of this cluster."""
    for item in subject.spec.expectations:
        if item.figure not in subject.figures:
            close = get_close_matches(item.figure, subject.figures, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else "See the totals of `clusterwright inventory`."
            yield Problem((*item.path, "figure"), f'This cluster has no figure "{item.figure}".', hint)
