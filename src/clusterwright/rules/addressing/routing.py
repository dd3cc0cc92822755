"""CW304, CW305, CW309, CW362, CW363: AS numbers of switches and of borders' neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.plan.placing import as_numbers
from clusterwright.plan.skeleton import FabricSkeleton, count_seats
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.ethernet import asn_fault

# RFC 6996: numbers for private use.
PRIVATE_ASNS = ((64512, 65534), (4200000000, 4294967294))


@rule("CW304", Severity.ERROR)
def overlapping_asns(subject: Subject) -> Iterator[Problem]:
    """Tiers of one fabric with overlapping ranges of AS numbers."""
    for skeleton in subject.skeleton.fabrics:
        ranges: list[tuple[int, int, str]] = []
        for depth, (first, last) in _asn_ranges(skeleton).items():
            tier = skeleton.fabric.tiers[depth]
            for low, high, role in ranges:
                if first > high or low > last or not tier.asn:
                    continue
                yield Problem(
                    (*tier.asn.path, "base"),
                    f"{tier.role} takes AS {first} to {last}, {role} takes {low} to {high}.",
                    f"Begin {tier.role} at {high + 1} or later, or far enough below {low}.",
                )
            ranges.append((first, last, tier.role))


def _asn_ranges(skeleton: FabricSkeleton) -> dict[int, tuple[int, int]]:
    """First and last AS number of each tier."""
    asn_ranges: dict[int, tuple[int, int]] = {}
    for seat, asn in zip(skeleton.seats, as_numbers(skeleton), strict=True):
        if asn is not None:
            low, high = asn_ranges.get(seat.tier, (asn, asn))
            asn_ranges[seat.tier] = min(low, asn), max(high, asn)
    return asn_ranges


def _is_private(first: int, last: int) -> bool:
    """True for AS numbers inside one of the private ranges."""
    return any(low <= first and last <= high for low, high in PRIVATE_ASNS)


@rule("CW305", Severity.WARNING)
def public_asn(subject: Subject) -> Iterator[Problem]:
    """AS numbers outside the private ranges."""
    for skeleton in subject.skeleton.fabrics:
        for depth, (first, last) in _asn_ranges(skeleton).items():
            tier = skeleton.fabric.tiers[depth]
            if tier.asn and not _is_private(first, last):
                yield Problem(
                    (*tier.asn.path, "base"),
                    f"{tier.role} takes AS {first} to {last}, which is not all private.",
                    "Use 64512 to 65534 or 4200000000 to 4294967294.",
                )


@rule("CW309", Severity.ERROR)
def shared_asn(subject: Subject) -> Iterator[Problem]:
    """Tiers with uplinks and one AS number for several switches with nodes, or for several groups."""
    for skeleton in subject.skeleton.fabrics:
        node_seats = count_seats(node.seats for node in skeleton.nodes)
        with_nodes = {skeleton.seats[seat].tier for seat in node_seats}
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


@rule("CW362", Severity.ERROR)
def impossible_asn(subject: Subject) -> Iterator[Problem]:
    """AS numbers beyond 32 bits, and reserved ones, of tiers and borders."""
    for skeleton in subject.skeleton.fabrics:
        for depth, numbers in _asns_by_tier(skeleton).items():
            tier = skeleton.fabric.tiers[depth]
            for asn in sorted(numbers):
                reason = asn_fault(asn)
                if reason and tier.asn:
                    message = f"A switch of {tier.role} would be AS {asn}: {reason}."
                    yield Problem((*tier.asn.path, "base"), message, "Move the base.")
                    break
    for border in subject.spec.borders:
        reason = asn_fault(border.asn)
        if reason:
            message = f"The neighbour of border {border.name} cannot be AS {border.asn}: {reason}."
            yield Problem((*border.path, "asn"), message, "Write the neighbour's number.")


@rule("CW363", Severity.ERROR)
def asn_on_both_sides(subject: Subject) -> Iterator[Problem]:
    """Borders to a neighbour with the AS number of a switch in the same fabric."""
    fabric_of: dict[str, tuple[str, Mapping[int, str]]] = {}
    for skeleton in subject.skeleton.fabrics:
        names_by_asn: dict[int, str] = {}
        for seat, asn in zip(skeleton.seats, as_numbers(skeleton), strict=True):
            if asn is not None:
                names_by_asn.setdefault(asn, seat.name)
        fabric_of.update((seat.name, (skeleton.fabric.name, names_by_asn)) for seat in skeleton.seats)
    for border in subject.spec.borders:
        if border.device not in fabric_of:
            continue  # CW534
        fabric, switch_by_asn = fabric_of[border.device]
        if border.asn in switch_by_asn:
            switch = switch_by_asn[border.asn]
            yield Problem(
                (*border.path, "asn"),
                f"AS {border.asn} is {switch}'s in {fabric}: the two refuse each other's routes.",
                "Write the neighbour's number, or move the base of the tier.",
            )


def _asns_by_tier(skeleton: FabricSkeleton) -> dict[int, set[int]]:
    asns_by_tier: dict[int, set[int]] = {}
    for seat, asn in zip(skeleton.seats, as_numbers(skeleton), strict=True):
        if asn is not None:
            asns_by_tier.setdefault(seat.tier, set()).add(asn)
    return asns_by_tier
