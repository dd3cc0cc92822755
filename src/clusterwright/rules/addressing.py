"""CW3xx: addresses, AS numbers, GUIDs and LIDs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from clusterwright.finding import Severity
from clusterwright.plan.addressing import check_pools
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Stage, Subject, rule
from clusterwright.spec.document import Path
from clusterwright.spec.model import Network

# RFC 6996: numbers for private use.
PRIVATE_ASNS = ((64512, 65534), (4200000000, 4294967294))
# InfiniBand architecture: unicast LIDs are 0x0001 to 0xBFFF.
UNICAST_LIDS = 0xBFFF


@rule(
    code="CW301",
    severity=Severity.ERROR,
    title="addressing that does not fit the technology",
    why="Ethernet fabrics are routed and need addresses and AS numbers, InfiniBand fabrics a subnet manager.",
    mend="Give Ethernet fabrics `addressing` and their tiers `asn`, InfiniBand fabrics a `subnet_manager`.",
)
def addressing_fits(subject: Subject) -> Iterator[Problem]:
    """Missing or misplaced `addressing`, `asn`, `subnet_manager` and `partitions`."""
    for fabric in subject.spec.fabrics:
        infiniband = fabric.technology == "infiniband"
        if infiniband and fabric.addressing:
            yield Problem(
                fabric.addressing.path, f"{fabric.name} is InfiniBand and has no IP addressing.", "Take it away."
            )
        if infiniband and fabric.subnet_manager is None:
            yield Problem(
                fabric.path, f"{fabric.name} is InfiniBand and has no `subnet_manager`.", "Say which nodes run it."
            )
        if not infiniband and fabric.addressing is None:
            yield Problem(
                fabric.path, f"{fabric.name} is {fabric.technology} and has no `addressing`.", "Give it address pools."
            )
        if not infiniband and fabric.subnet_manager is not None:
            path = fabric.subnet_manager.path
            yield Problem(path, f"{fabric.name} is {fabric.technology} and has no subnet manager.", "Take it away.")
        for tier in fabric.tiers:
            if infiniband and tier.asn is not None:
                yield Problem(tier.asn.path, f"{fabric.name} is InfiniBand and speaks no BGP.", "Take `asn` away.")
            if not infiniband and tier.asn is None:
                yield Problem(tier.path, f"Tier {tier.role} has no AS number.", "Add `asn: {base: ..., per: ...}`.")


@rule(
    code="CW302",
    severity=Severity.ERROR,
    title="address pools overlap",
    why="Two networks that share addresses cannot both be reached.",
    mend="Choose prefixes that do not contain each other.",
)
def overlapping_pools(subject: Subject) -> Iterator[Problem]:
    """Pools of any fabrics that share addresses."""
    pools: list[tuple[str, Network, Path]] = []
    for fabric in subject.spec.fabrics:
        if fabric.addressing is None:
            continue
        at = fabric.addressing
        for name, network in (("loopbacks", at.loopbacks), ("links", at.links), ("hosts", at.hosts)):
            pools.append((f"{fabric.name} {name}", network, (*at.path, name)))
    for (first, a, _), (second, b, path) in combinations(pools, 2):
        if a.version == b.version and a.overlaps(b):
            yield Problem(path, f"{second} ({b}) overlaps {first} ({a}).", "Choose a prefix of its own.")


@rule(
    code="CW303",
    severity=Severity.ERROR,
    title="address pool too small",
    why="The plan would run out of addresses part of the way through the cluster.",
    mend="Choose a shorter prefix.",
    stage=Stage.SKELETON,
)
def pool_too_small(subject: Subject) -> Iterator[Problem]:
    """Pools that the switches, links or hosts of a fabric do not fit into."""
    for skeleton in subject.skeleton.fabrics:
        addressing = skeleton.fabric.addressing
        if addressing is None:
            continue
        hosts = Counter(attachment.seat for attachment in skeleton.attachments)
        lacking = check_pools(
            addressing,
            switches=len(skeleton.seats),
            links=_uplinks(skeleton),
            subnets=len(hosts),
            hosts_per_subnet=max(hosts.values(), default=0),
        )
        for shortage in lacking:
            what = {
                "loopbacks": f"{shortage.need} switches, and loopbacks for {shortage.have}",
                "links": f"{shortage.need} links between switches, and prefixes for {shortage.have}",
                "hosts": f"{shortage.need} switches with hosts, and host subnets for {shortage.have}",
                "hosts_per_switch": f"{shortage.need} NICs on one switch, and addresses for {shortage.have}",
            }[shortage.pool]
            yield Problem(
                (*addressing.path, shortage.pool), f"{skeleton.fabric.name} has {what}.", "Use a shorter prefix."
            )


def _uplinks(skeleton: FabricSkeleton) -> int:
    total = 0
    for bundle in skeleton.bundles:
        for lower in bundle.lowers:
            up = skeleton.fabric.tiers[skeleton.seats[lower].tier].up
            total += up.links if up else 0
    return total


@rule(
    code="CW304",
    severity=Severity.ERROR,
    title="AS numbers of two tiers overlap",
    why="A router drops routes that carry its own AS number, so nodes behind a shared number cannot reach each other.",
    mend="Move one base far enough away.",
    stage=Stage.SKELETON,
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
                        "Move one base far enough away.",
                    )
            ranges.append((first, last, tier.role))


def _asn_ranges(skeleton: FabricSkeleton) -> dict[int, tuple[int, int]]:
    """First and last AS number of each tier."""
    seats = Counter(seat.tier for seat in skeleton.seats)
    found = {}
    for depth, tier in enumerate(skeleton.fabric.tiers):
        if tier.asn is None or not seats[depth]:
            continue
        shared = {"tier": seats[depth], "switch": 1, "group": tier.count * skeleton.planes[depth]}[tier.asn.per]
        found[depth] = (tier.asn.base, tier.asn.base + (seats[depth] - 1) // shared)
    return found


@rule(
    code="CW305",
    severity=Severity.WARNING,
    title="AS number that belongs to somebody",
    why="Numbers outside the private ranges are registered; a leaked route would carry another network's name.",
    mend="Use 64512 to 65534 or 4200000000 to 4294967294 (RFC 6996).",
    stage=Stage.SKELETON,
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
    code="CW306",
    severity=Severity.ERROR,
    title="pools of two IP versions",
    why="A fabric speaks one IP version; its switches could not route between pools of two.",
    mend="Use IPv4 or IPv6 for all pools of a fabric.",
)
def mixed_versions(subject: Subject) -> Iterator[Problem]:
    """Fabrics with IPv4 and IPv6 pools."""
    for fabric in subject.spec.fabrics:
        at = fabric.addressing
        if at is None:
            continue
        for name, network in (("loopbacks", at.loopbacks), ("links", at.links)):
            if network.version != at.hosts.version:
                yield Problem(
                    (*at.path, name),
                    f"{name} of {fabric.name} is IPv{network.version}, hosts is IPv{at.hosts.version}.",
                    "Use one IP version.",
                )
        if at.hosts_per_switch > at.hosts.max_prefixlen - 1:
            yield Problem(
                (*at.path, "hosts_per_switch"),
                f"/{at.hosts_per_switch} is no IPv{at.hosts.version} subnet for hosts.",
                f"Use at most {at.hosts.max_prefixlen - 2}.",
            )


@rule(
    code="CW307",
    severity=Severity.ERROR,
    title="more endpoints than LIDs",
    why="An InfiniBand subnet has 49,151 unicast LIDs; beyond them ports stay down.",
    mend="Split the fabric into subnets.",
    stage=Stage.SKELETON,
)
def lid_space(subject: Subject) -> Iterator[Problem]:
    """Endpoints and switch chips against the unicast LID space, with LMC 0."""
    for skeleton in subject.skeleton.fabrics:
        if skeleton.fabric.technology != "infiniband":
            continue
        chips = sum(_chips(skeleton, seat.tier) for seat in skeleton.seats)
        need = len(skeleton.attachments) + chips
        if need > UNICAST_LIDS:
            yield Problem(
                skeleton.fabric.path,
                f"{skeleton.fabric.name} needs {need:,} LIDs, a subnet has {UNICAST_LIDS:,}.",
                "Split the fabric into subnets.",
            )


def _chips(skeleton: FabricSkeleton, tier: int) -> int:
    chips = skeleton.fabric.tiers[tier].model.chips
    return chips.leaves + chips.spines if chips else 1
