"""CW5xx: zones, prefixes and partitions stay closed, and nothing fails open."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from ipaddress import IPv6Network
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.intent.needs.file_systems import is_nfs
from clusterwright.plan.model import network_bounds
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.address_space import (
    NEVER_A_SOURCE,
    SHORTEST_IPV4,
    SHORTEST_IPV6,
    takes_in_internet,
)
from clusterwright.spec.encryption import CLEAR
from clusterwright.spec.image import FILTER
from clusterwright.spec.infiniband import DEFAULT_PKEY
from clusterwright.spec.isolation import INTERNET, WITH_PORTS, Network, Zone
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.zone_reach import lives_on, zones_of

# IPv6's private space (RFC 4193): a short prefix outside the internet.
PRIVATE_IPV6 = IPv6Network("fc00::/7")


@rule("CW501", Severity.ERROR)
def internet_zone(subject: Subject) -> Iterator[Problem]:
    """Zones with a default route or a very short prefix, and zones adding up to one."""
    yield from _short_prefixes(subject.spec)
    yield from _internet_in_parts(subject.spec)


def _short_prefixes(spec: ClusterSpec) -> Iterator[Problem]:
    for zone in spec.zones:
        if spec.document.at((*zone.path, "prefixes")) is None:
            continue  # the addresses of a declared internet, which CW514 and CW515 check
        for index, network in enumerate(zone.prefixes):
            if _is_internet(network):
                yield Problem(
                    (*zone.path, "prefixes", index),
                    f"{network} covers the internet; zone {zone.name} would open the cluster to it.",
                    "List the owner's own prefixes, or declare the internet: a zone of `kind: internet` without any.",
                )


def _internet_in_parts(spec: ClusterSpec) -> Iterator[Problem]:
    """The first zone covering too much of the internet together with the zones before it."""
    prefixes: list[Network] = []
    before: list[Zone] = []
    for zone in spec.zones:
        if zone.kind == INTERNET:
            continue
        public = [network for network in zone.prefixes if not _is_internet(network)]
        if public and takes_in_internet((*prefixes, *public)):
            whose = f"zone {zone.name}"
            if not takes_in_internet(public):
                whose = f"zones {', '.join(other.name for other in (*before, zone))}"
            message = f"The prefixes of {whose} hold as many public addresses together as a /{SHORTEST_IPV4}."
            yield Problem((*zone.path, "prefixes"), message, "List the owner's own prefixes.")
            return
        if public:
            prefixes += public
            before.append(zone)


def _is_internet(network: Network) -> bool:
    shortest = SHORTEST_IPV4 if network.version == 4 else SHORTEST_IPV6
    private = isinstance(network, IPv6Network) and network.subnet_of(PRIVATE_IPV6)
    return network.prefixlen <= shortest and not private


@rule("CW502", Severity.ERROR)
def zone_overlaps_fabric(subject: Subject) -> Iterator[Problem]:
    """Zone prefixes overlapping the host pools of the cluster's own fabrics."""
    pools = sorted(_host_pools(subject.spec))
    starts = [(pool.version, pool.first) for pool in pools]
    for zone in subject.spec.zones:
        for index, network in enumerate(zone.prefixes):
            first, last = network_bounds(network)
            # Pools do not overlap (CW302): only the last one beginning before the prefix ends can overlap it.
            nearest = bisect_right(starts, (network.version, last)) - 1
            if nearest < 0 or _is_internet(network):
                continue
            pool = pools[nearest]
            if pool.version == network.version and first <= pool.last:
                yield Problem(
                    (*zone.path, "prefixes", index),
                    f"{network} of zone {zone.name} overlaps the hosts of {pool.name} ({pool.network}).",
                    f"Choose a prefix outside {pool.network}, or name the nodes instead.",
                )


class _HostPool(NamedTuple):
    """The first and last address of a fabric's hosts as numbers, its name, and the network as text."""

    version: int
    first: int
    last: int
    name: str
    network: str


def _host_pools(spec: ClusterSpec) -> Iterator[_HostPool]:
    for fabric in spec.fabrics:
        if fabric.addressing is not None:
            yield _host_pool(fabric.name, fabric.addressing.hosts)
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            if partition.ipoib is not None:
                yield _host_pool(partition.ipoib.interface, partition.ipoib.network)


def _host_pool(name: str, network: Network) -> _HostPool:
    first, last = network_bounds(network)
    return _HostPool(version=network.version, first=first, last=last, name=name, network=str(network))


@rule("CW564", Severity.ERROR)
def zone_of_no_source(subject: Subject) -> Iterator[Problem]:
    """Zone prefixes and host pools of addresses never used as a source."""
    spec = subject.spec
    for zone in spec.zones:
        for index, network in enumerate(zone.prefixes):
            never = None if _is_internet(network) else _never_a_source(network)
            if never is not None:
                message = f"{network} of zone {zone.name} is in {never}, which is the source address of no packet."
                yield Problem((*zone.path, "prefixes", index), message, "List addresses of machines (RFC 6890).")
    for fabric in spec.fabrics:
        never = _never_a_source(fabric.addressing.hosts) if fabric.addressing is not None else None
        if never is not None:
            message = f"The hosts of {fabric.name} would have addresses of {never}, which no packet comes from."
            yield Problem((*fabric.path, "addressing", "hosts"), message, "Choose a private prefix (RFC 1918, 4193).")


def _never_a_source(network: Network) -> Network | None:
    """The range of RFC 6890 overlapping ``network``; None without one."""
    for never in NEVER_A_SOURCE:
        if never.version == network.version and never.overlaps(network):
            return never
    return None


@rule("CW503", Severity.ERROR)
def unpinned_nfs(subject: Subject) -> Iterator[Problem]:
    """NFS mounts without a pinned version 4."""
    for mount in subject.spec.mounts:
        if not is_nfs(mount):
            continue
        path = (*mount.path, "options")
        version = _nfs_version(mount)
        if version is None:
            yield Problem(path, f"{mount.mountpoint} pins no NFS version.", 'Add "vers=4.2" to its options.')
        elif not version.startswith("4.") and not (version == "3" and _is_in_clear(mount)):
            yield Problem(path, f"{mount.mountpoint} asks for NFS {version}.", 'Use "vers=4.2" or 4.1.')


def _nfs_version(mount: Mount) -> str | None:
    """The version in the last option setting one."""
    version = None
    for option in mount.options:
        name, _, value = option.partition("=")
        if name in ("vers", "nfsvers"):
            version = value
    return version


def _is_in_clear(mount: Mount) -> bool:
    return mount.protection is not None and mount.protection.kind == CLEAR


@rule("CW504", Severity.ERROR)
def pkey_twice(subject: Subject) -> Iterator[Problem]:
    """P_Keys of two partitions of a fabric, and the default one."""
    for fabric in subject.spec.fabrics:
        owner: dict[int, str] = {}
        for partition in fabric.partitions:
            path = (*partition.path, "pkey")
            if partition.pkey == DEFAULT_PKEY:
                yield Problem(path, "P_Key 32767 (0x7fff) is the default partition.", "Choose another key.")
            elif partition.pkey in owner:
                yield Problem(
                    path,
                    f"P_Key {partition.pkey} ({partition.pkey:#x}) belongs to {owner[partition.pkey]} already.",
                    f"Choose another key for {partition.name}, below 32767.",
                )
            owner.setdefault(partition.pkey, partition.name)


@rule("CW506", Severity.ERROR)
def ports_without_protocol(subject: Subject) -> Iterator[Problem]:
    """Flows with ports of a protocol other than tcp and udp."""
    lacks = {"icmp": "which has no ports", "any": "every protocol, of which most have no ports"}
    for flow in subject.spec.flows:
        if flow.protocol not in WITH_PORTS and flow.ports:
            yield Problem(
                (*flow.path, "ports"),
                f"Flow {flow.name} is {flow.protocol}, {lacks[flow.protocol]}.",
                "Remove `ports`, or choose tcp or udp as `protocol`.",
            )


@rule("CW507", Severity.ERROR)
def cut_off_nodes(subject: Subject) -> Iterator[Problem]:
    """Node groups with an image and without a zone, or without a flow to their zones."""
    spec = subject.spec
    entered = {flow.target for flow in spec.flows}
    for group in spec.node_groups:
        zones = zones_of(spec, group.name)
        if group.image is None or entered.intersection(zones):
            continue
        image = spec.image(group.image)
        if image is not None and not image.owns(FILTER):
            continue  # the filter of the existing system decides
        if zones and not any(lives_on(spec, zone) for zone in spec.zones if zone.name in zones):
            continue  # on InfiniBand alone, without an address for a flow (CW524)
        if zones:
            message = f"No flow leads to {group.name}: its firewall would deny everything, SSH too."
            hint = f"Add a flow to zone {zones[0]}, such as SSH from the services."
            key = "zone" if group.zone is not None else "name"
            yield Problem((*group.path, key), message, hint)
        else:
            message = f"{group.name} has an image and no zone: its firewall would deny everything, SSH too."
            yield Problem((*group.path, "image"), message, "Give it a `zone`.")


@rule("CW508", Severity.WARNING)
def idle_zone(subject: Subject) -> Iterator[Problem]:
    """Zones of prefixes alone without a flow."""
    named = {flow.source for flow in subject.spec.flows} | {flow.target for flow in subject.spec.flows}
    for zone in subject.spec.zones:
        if zone.prefixes and not zone.nodes and not zone.fabrics and zone.name not in named:
            message = f"No flow begins or ends in zone {zone.name}, so its prefixes allow nothing."
            yield Problem((*zone.path, "name"), message, "Add the flow that it was made for, or remove the zone.")
