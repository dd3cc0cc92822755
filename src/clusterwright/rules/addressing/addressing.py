"""CW3xx: addresses, MTUs and LIDs. AS numbers are in routing.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from clusterwright.finding import Severity
from clusterwright.plan.addressing import check_pools, fabric_addresses, resting_in
from clusterwright.plan.model import network_bounds
from clusterwright.plan.skeleton import FabricSkeleton, count_seats
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, FabricAddressing
from clusterwright.spec.isolation import Network
from clusterwright.spec.text.document import Path

# InfiniBand architecture: unicast LIDs are 0x0001 to 0xBFFF.
UNICAST_LIDS = 0xBFFF
# InfiniBand architecture: the MTUs of a port.
INFINIBAND_MTUS = (256, 512, 1024, 2048, 4096)
# The smallest MTU of a link: RFC 791 (every host accepts datagrams of 576), RFC 8200.
SMALLEST_MTU = {4: 576, 6: 1280}


@rule("CW301", Severity.ERROR, leaves_no_plan=True)
def addressing_fits(subject: Subject) -> Iterator[Problem]:
    """Missing or misplaced `addressing`, `asn`, `subnet_manager` and `partitions`."""
    for fabric in subject.spec.fabrics:
        if fabric.is_provided:
            continue  # CW516
        if fabric.technology == "infiniband":
            yield from _unlike_infiniband(fabric)
        else:
            yield from _unlike_ethernet(fabric)
            yield from _lacking_for_routes(fabric)


def _unlike_infiniband(fabric: Fabric) -> Iterator[Problem]:
    if fabric.addressing:
        message = f"{fabric.name} is InfiniBand and has no IP addressing."
        yield Problem(fabric.addressing.path, message, "Remove it.", key=True)
    if fabric.subnet_manager is None:
        yield Problem(
            (*fabric.path, "technology"),
            f"{fabric.name} is InfiniBand and has no `subnet_manager`.",
            "Say which nodes run it: `subnet_manager: {nodes: ..., count: 2, routing_engine: ftree}`.",
        )
    for item in fabric.classes:
        if item.dscp:
            message = f"{fabric.name} is InfiniBand, whose packets have a service level and no DSCP."
            yield Problem((*item.path, "dscp"), message, f"Remove the DSCPs of {item.name}.", key=True)
    for tier in fabric.tiers:
        if tier.asn is not None:
            message = f"Tier {tier.role} has AS numbers, but {fabric.name} is InfiniBand and speaks no BGP."
            yield Problem(tier.asn.path, message, "Remove `asn`.", key=True)


def _unlike_ethernet(fabric: Fabric) -> Iterator[Problem]:
    if fabric.addressing is None:
        yield Problem(
            (*fabric.path, "technology"),
            f"{fabric.name} is {fabric.technology} and has no `addressing`.",
            "Give its hosts addresses: `addressing: {hosts: 10.10.0.0/24}`.",
        )
    for key in ("subnet_manager", "partitions"):
        if getattr(fabric, key):
            message = f"{fabric.name} is {fabric.technology}; only InfiniBand has `{key}`."
            yield Problem((*fabric.path, key), message, "Remove it.", key=True)


def _lacking_for_routes(fabric: Fabric) -> Iterator[Problem]:
    """Missing AS numbers and pools for routing between switches; those of borders are left to CW534."""
    if len(fabric.tiers) == 1:
        return
    for tier in fabric.tiers:
        if tier.asn is None:
            message = f"Tier {tier.role} of {fabric.name} has no AS numbers."
            yield Problem((*tier.path, "role"), message, "Add `asn: {base: ..., per: switch}`.")
    if fabric.addressing is None:
        return
    present = {key for key, _ in fabric.addressing.pools}
    for key in ("loopbacks", "links"):
        if key not in present:
            message = f"{fabric.name} has {len(fabric.tiers)} tiers and no pool of `{key}`."
            yield Problem(fabric.addressing.path, message, f"Add `{key}`, a prefix that nothing else uses.", key=True)


@rule("CW302", Severity.ERROR)
def overlapping_pools(subject: Subject) -> Iterator[Problem]:
    """Pools of any fabrics sharing addresses."""
    pools: list[tuple[int, int, int, str, Network, Path]] = []
    for fabric in subject.spec.fabrics:
        addressing = fabric.addressing
        if addressing:
            for key, network in addressing.pools:
                first, last = network_bounds(network)
                name = f"the {key} of {fabric.name}"
                pools.append((network.version, first, last, name, network, (*fabric.path, "addressing", key)))
        for carried in (partition.ipoib for partition in fabric.partitions if partition.ipoib is not None):
            name, path = f"{carried.interface} on {fabric.name}", (*carried.path, "network")
            pools.append((carried.network.version, *network_bounds(carried.network), name, carried.network, path))
    widest: tuple[int, int, str, Network] | None = None  # version, last address, name and prefix of the pool before
    for version, first, last, name, network, path in sorted(pools, key=lambda pool: pool[:3]):
        if widest and widest[0] == version and first <= widest[1]:
            yield Problem(
                path,
                f"{network} for {name} shares addresses with {widest[3]} for {widest[2]}.",
                "Choose a prefix that nothing else uses.",
            )
        if widest is None or widest[:2] < (version, last):
            widest = (version, last, name, network)


@rule("CW303", Severity.ERROR, leaves_no_plan=True)
def pool_too_small(subject: Subject) -> Iterator[Problem]:
    """Pools too small for the switches, links or hosts of a fabric."""
    for skeleton in subject.skeleton.fabrics:
        addressing = skeleton.fabric.addressing
        if addressing is None:
            continue
        hosts = count_seats(node.addressed for node in skeleton.nodes)
        hosts.update(port.seat for port in skeleton.management)
        rests = resting_in(fabric_addresses(addressing), skeleton.resting.addresses)
        demand = (len(skeleton.seats), _uplinks(skeleton), len(hosts), max(hosts.values(), default=0))
        need = (demand[0] + rests[0], demand[1] + rests[1], demand[2] + rests[2], demand[3] + rests[3])
        lacking = check_pools(addressing, *need)
        for shortage in lacking:
            what = {
                "loopbacks": f"{shortage.need:,} switches, and loopbacks for {shortage.have:,}",
                "links": f"{shortage.need:,} links between switches, and prefixes for {shortage.have:,}",
                "hosts": f"{shortage.need:,} switches with hosts, and subnets of /{addressing.hosts_per_switch} "
                f"for {shortage.have:,}",
                "hosts_per_switch": f"{shortage.need:,} NICs on one switch, and addresses for {shortage.have:,} "
                f"in a /{addressing.hosts_per_switch}",
            }[shortage.pool]
            fits = _prefix_that_holds(addressing, shortage.pool, need)
            yield Problem(
                (*addressing.path, shortage.pool),
                f"{skeleton.fabric.name} has {what}{', those that rest counted' if any(rests) else ''}.",
                _more_room(addressing, shortage.pool, fits),
            )


def _more_room(addressing: FabricAddressing, pool: str, fits: int | None) -> str:
    """The hint for a larger pool; a pool in the hands of a single switch can be divided as well."""
    if fits is None:
        return "No prefix is large enough: check the counts."
    is_whole = addressing.hosts_per_switch == addressing.hosts.prefixlen
    return f"A /{fits} holds them{', each with its `hosts_per_switch`' if pool == 'hosts' and is_whole else ''}."


def _prefix_that_holds(addressing: FabricAddressing, pool: str, need: tuple[int, int, int, int]) -> int | None:
    """The longest sufficient prefix of a pool; None without one."""
    present = getattr(addressing, pool)
    longest = present if isinstance(present, int) else present.prefixlen
    for length in range(longest - 1, 0, -1):
        wider: dict[str, Any] = {pool: length if isinstance(present, int) else present.supernet(new_prefix=length)}
        if pool not in {shortage.pool for shortage in check_pools(replace(addressing, **wider), *need)}:
            return length
    return None


def _uplinks(skeleton: FabricSkeleton) -> int:
    total = 0
    for bundle in skeleton.bundles:
        for lower in bundle.lowers:
            up = skeleton.fabric.tiers[skeleton.seats[lower].tier].up
            total += up.links if up else 0
    return total


@rule("CW306", Severity.ERROR, relied_on=True)
def mixed_versions(subject: Subject) -> Iterator[Problem]:
    """Fabrics with IPv4 and IPv6 pools."""
    for fabric in subject.spec.fabrics:
        addressing = fabric.addressing
        if addressing is None:
            continue
        for name, network in addressing.pools:
            if network.version != addressing.hosts.version:
                yield Problem(
                    (*addressing.path, name),
                    f"{name} of {fabric.name} is IPv{network.version}, hosts is IPv{addressing.hosts.version}.",
                    f"Use IPv{addressing.hosts.version} for all three pools, or IPv{network.version}.",
                )
        if addressing.hosts_per_switch > addressing.hosts.max_prefixlen - 1:
            yield Problem(
                (*addressing.path, "hosts_per_switch"),
                f"{fabric.name} gives each switch a /{addressing.hosts_per_switch}:"
                f" no IPv{addressing.hosts.version} subnet for hosts.",
                f"Use at most {addressing.hosts.max_prefixlen - 2}.",
            )


@rule("CW307", Severity.ERROR)
def lid_space(subject: Subject) -> Iterator[Problem]:
    """Endpoints and switch chips, compared with the unicast LID space, with LMC 0."""
    for skeleton in subject.skeleton.fabrics:
        if skeleton.fabric.technology != "infiniband":
            continue
        chips = sum(_chips(skeleton, seat.tier) for seat in skeleton.seats)
        need = skeleton.attached.total() + chips
        if need > UNICAST_LIDS:
            yield Problem(
                (*skeleton.fabric.path, "attach"),
                f"{skeleton.fabric.name} needs {need:,} LIDs, a subnet has {UNICAST_LIDS:,}.",
                "Split the fabric into subnets, each a fabric of its own.",
            )


def _chips(skeleton: FabricSkeleton, tier: int) -> int:
    chips = skeleton.fabric.tiers[tier].model.chips
    return chips.leaves + chips.spines if chips else 1


@rule("CW308", Severity.ERROR)
def impossible_mtu(subject: Subject) -> Iterator[Problem]:
    """MTUs undefined by InfiniBand, or too small for IP."""
    for fabric in subject.spec.fabrics:
        path = (*fabric.path, "mtu")
        if fabric.technology == "infiniband":
            if fabric.mtu not in INFINIBAND_MTUS:
                message = f"{fabric.name} is InfiniBand, which has no MTU of {fabric.mtu}."
                yield Problem(path, message, "Use 4096, or 2048, 1024, 512 or 256.")
        elif fabric.addressing and fabric.mtu < SMALLEST_MTU[fabric.addressing.hosts.version]:
            version = fabric.addressing.hosts.version
            message = f"MTU {fabric.mtu} of {fabric.name} is less than the {SMALLEST_MTU[version]} of IPv{version}."
            yield Problem(path, message, "Use 1500, or 9000 for jumbo frames.")
