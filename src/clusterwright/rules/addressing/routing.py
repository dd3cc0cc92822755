"""CW304, CW305, CW309: AS numbers, by which BGP tells routers apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.placing import as_numbers
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule

# RFC 6996: numbers for private use.
PRIVATE_ASNS = ((64512, 65534), (4200000000, 4294967294))


@rule(
    code="CW304",
    severity=Severity.ERROR,
    title="AS numbers of two tiers overlap",
    why="A router drops routes that carry its own AS number, so nodes behind a shared number cannot reach each other.",
    mend="Move one base far enough away.",
    docs="A tier takes the numbers from `base` upwards, one for each switch or group, or one in all. The message"
    " shows both ranges. Usual cause: the rack switches grew past the gap that was left for them.",
)
def overlapping_asns(subject: Subject) -> Iterator[Problem]:
    """Tiers of one fabric whose ranges of AS numbers meet."""
    for skeleton in subject.skeleton.fabrics:
        ranges: list[tuple[int, int, str]] = []
        for depth, (first, last) in _asn_ranges(skeleton).items():
            tier = skeleton.fabric.tiers[depth]
            for low, high, other in ranges:
                if first <= high and low <= last and tier.asn:
                    yield Problem(
                        (*tier.asn.path, "base"),
                        f"{tier.role} takes AS {first} to {last}, {other} takes {low} to {high}.",
                        f"Begin {tier.role} at {high + 1} or later, or far enough below {low}.",
                    )
            ranges.append((first, last, tier.role))


def _asn_ranges(skeleton: FabricSkeleton) -> dict[int, tuple[int, int]]:
    """First and last AS number of each tier."""
    found: dict[int, tuple[int, int]] = {}
    for seat, asn in zip(skeleton.seats, as_numbers(skeleton), strict=True):
        if asn is not None:
            low, high = found.get(seat.tier, (asn, asn))
            found[seat.tier] = min(low, asn), max(high, asn)
    return found


@rule(
    code="CW305",
    severity=Severity.WARNING,
    title="AS number that belongs to somebody",
    why="Numbers outside the private ranges are registered; a leaked route would carry another network's name.",
    mend="Use 64512 to 65534 or 4200000000 to 4294967294 (RFC 6996).",
    docs="Private numbers are 64512 to 65534 and 4200000000 to 4294967294 (RFC 6996). A cluster of more than a"
    " thousand switches needs the long ones.",
)
def public_asn(subject: Subject) -> Iterator[Problem]:
    """AS numbers outside the private ranges."""
    for skeleton in subject.skeleton.fabrics:
        for depth, (first, last) in _asn_ranges(skeleton).items():
            tier = skeleton.fabric.tiers[depth]
            if tier.asn and not any(low <= first and last <= high for low, high in PRIVATE_ASNS):
                yield Problem(
                    (*tier.asn.path, "base"),
                    f"{tier.role} takes AS {first} to {last}, which is not all private.",
                    "Use 64512 to 65534 or 4200000000 to 4294967294.",
                )


@rule(
    code="CW309",
    severity=Severity.ERROR,
    title="AS number shared by switches that need each other's routes",
    why="BGP drops a route that carries the receiver's own AS number, so the nodes behind such switches never meet.",
    mend="Use `per: switch` where nodes attach, and at least `per: group` between.",
    docs="A route from one rack to another goes up to a spine and down again. If both rack switches have one number,"
    " the second finds it in the AS path and takes the route for a loop (RFC 4271, 9.1.2). RFC 7938, 5.2 numbers"
    " a Clos this way: one number for each rack switch, one for the spines of a cluster, one for the uppermost tier."
    " Switches that share their neighbours below need no routes of each other, and may share a number; nor do"
    " management ports of switches, which only a station above them speaks to.",
)
def shared_asn(subject: Subject) -> Iterator[Problem]:
    """Tiers with uplinks whose AS number several switches with nodes of their own, or several groups, share."""
    for skeleton in subject.skeleton.fabrics:
        with_nodes = {skeleton.seats[item.seat].tier for item in skeleton.attachments if item.node >= 0}
        for depth, tier in enumerate(skeleton.fabric.tiers):
            if tier.asn is None or tier.up is None or tier.asn.per == "switch":
                continue
            groups = Counter(seat.group for seat in skeleton.seats if seat.tier == depth)
            most = groups.total() if tier.asn.per == "tier" else max(groups.values(), default=0)
            if (depth in with_nodes and most > 1) or (tier.asn.per == "tier" and len(groups) > 1):
                yield Problem(
                    (*tier.asn.path, "per"),
                    f"{most} {tier.role} switches share one AS number and drop the routes to each other's nodes.",
                    "Use `per: switch`." if depth in with_nodes else "Use `per: group` or `per: switch`.",
                )
