"""CW203, CW204, CW212: figures that the plan must meet, that ought to be declared, or that do not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from clusterwright.finding import Severity
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule


@rule(
    code="CW203",
    severity=Severity.ERROR,
    title="published figure not met",
    why="The spec claims to describe a cluster of which something else is known.",
    mend="Correct the spec, or the expectation and its source.",
    docs="Each entry of `expect` names a figure of the plan, the value that is published for it and where;"
    " `tolerance` is relative. `oversubscription.FABRIC.ROLE` is the bandwidth of all NICs at or below a tier"
    " over the bandwidth of that tier's uplinks: 1 is non-blocking, 7 is 1:7, and less than 1 means spare"
    " uplinks. `links.FABRIC.ROLE` counts the cables that end at a tier from below, `groups.LEVEL.NODES` the"
    " racks, pods and so on of a node group, `peak_petaflops.FORMAT` is what all GPUs compute at most by the"
    " catalogue's figures (`tf32-sparse` is what makers print for TF32).\n\n"
    "When the two differ, one of them is wrong: a count was changed and not the claim, or a published figure"
    " counts something else (GPUs and not nodes, or only the racks that hold GPUs).",
)
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


@rule(
    code="CW204",
    severity=Severity.ERROR,
    title="oversubscription that nobody declared",
    why="A training fabric that narrows above a tier slows every job that crosses it; that must be a decision.",
    mend="Add uplinks, or declare the ratio under `expect:` as `oversubscription.FABRIC.ROLE`.",
    docs="The ratio is the bandwidth of all NICs at or below a tier over the bandwidth of that tier's uplinks, as"
    " in `oversubscription.FABRIC.ROLE` under `expect:`. Where NICs are attached, each switch is looked at by"
    " itself too: racks with few NICs must not hide those with many.\n\n"
    "A narrow layer may be right: the 24,576-GPU RoCE cluster has full bandwidth inside a pod of 3,072 GPUs"
    ' and 1:7 above it ("The Llama 3 Herd of Models", 3.3.1). But then the ratio is a figure that the design'
    " is held to, so it is declared under `expect:` with its source.",
)
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


@rule(
    code="CW212",
    severity=Severity.ERROR,
    title="unknown figure",
    why="An expectation of a figure that does not exist is never checked.",
    mend="Use a figure that `clusterwright inventory` reports under totals.",
)
def unknown_figure(subject: Subject) -> Iterator[Problem]:
    """Expectations whose name is no figure of this cluster."""
    for item in subject.spec.expectations:
        if item.figure not in subject.figures:
            close = get_close_matches(item.figure, subject.figures, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else "See the totals of `clusterwright inventory`."
            yield Problem((*item.path, "figure"), f'This cluster has no figure "{item.figure}".', hint)
