"""CW5xx: what is closed stays closed, and nothing fails open."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

DEFAULT_PKEY = 0x7FFF
# An owner's networks are prefixes; anything this short takes in half the internet.
SHORTEST_IPV4 = 7
SHORTEST_IPV6 = 15
NFS_TYPES = ("nfs", "nfs4")


@rule(
    code="CW501",
    severity=Severity.ERROR,
    title="zone that is the internet",
    why="The cluster is isolated: traffic flows only between it and its owner's networks.",
    mend="List the owner's prefixes.",
)
def internet_zone(subject: Subject) -> Iterator[Problem]:
    """Zones with a default route or another prefix that spans far more than an owner has."""
    for zone in subject.spec.zones:
        for at, network in enumerate(zone.prefixes):
            shortest = SHORTEST_IPV4 if network.version == 4 else SHORTEST_IPV6
            if network.prefixlen <= shortest:
                yield Problem(
                    (*zone.path, "prefixes", at),
                    f"{network} takes in the internet; zone {zone.name} would open the cluster to it.",
                    "List the owner's own prefixes.",
                )


@rule(
    code="CW502",
    severity=Severity.ERROR,
    title="outside zone that holds cluster addresses",
    why="Traffic from inside would pass as traffic from outside, by rules meant for others.",
    mend="Choose prefixes that no fabric uses, or name the nodes.",
)
def zone_overlaps_fabric(subject: Subject) -> Iterator[Problem]:
    """Zone prefixes that overlap the host pools of the cluster's own fabrics."""
    for zone in subject.spec.zones:
        for at, network in enumerate(zone.prefixes):
            for fabric in subject.spec.fabrics:
                hosts = fabric.addressing.hosts if fabric.addressing else None
                if hosts and hosts.version == network.version and hosts.overlaps(network):
                    yield Problem(
                        (*zone.path, "prefixes", at),
                        f"{network} overlaps the hosts of {fabric.name} ({hosts}).",
                        "Choose a prefix that no fabric uses.",
                    )


@rule(
    code="CW503",
    severity=Severity.ERROR,
    title="NFS mount that may fall back",
    why="Without a pinned version a client falls back to NFSv3, without locks and without TLS.",
    mend='Add "vers=4.2" (or 4.1).',
)
def unpinned_nfs(subject: Subject) -> Iterator[Problem]:
    """NFS mounts whose options do not pin a version 4."""
    for mount in subject.spec.mounts:
        if mount.type not in NFS_TYPES:
            continue
        versions = [option.partition("=")[2] for option in mount.options if option.split("=")[0] in ("vers", "nfsvers")]
        if not versions:
            yield Problem((*mount.path, "options"), f"{mount.mountpoint} pins no NFS version.", 'Add "vers=4.2".')
        elif not versions[-1].startswith("4."):
            yield Problem(
                (*mount.path, "options"), f"{mount.mountpoint} asks for NFS {versions[-1]}.", 'Use "vers=4.2" or 4.1.'
            )


@rule(
    code="CW504",
    severity=Severity.ERROR,
    title="P_Key used twice or reserved",
    why="Partitions of one key are one partition, and 0x7fff is the default one that everybody shares.",
    mend="Give each partition a key of its own below 0x7fff.",
)
def pkey_twice(subject: Subject) -> Iterator[Problem]:
    """P_Keys of a fabric that two partitions share, and the default one."""
    for fabric in subject.spec.fabrics:
        owner: dict[int, str] = {}
        for partition in fabric.partitions:
            path = (*partition.path, "pkey")
            if partition.pkey == DEFAULT_PKEY:
                yield Problem(path, "P_Key 0x7fff is the default partition.", "Choose another key.")
            elif partition.pkey in owner:
                yield Problem(
                    path,
                    f"P_Key {partition.pkey:#x} belongs to {owner[partition.pkey]} already.",
                    "Choose another key.",
                )
            owner.setdefault(partition.pkey, partition.name)


@rule(
    code="CW505",
    severity=Severity.ERROR,
    title="mount without a flow",
    why="Default deny stops the mount at boot, and the node never becomes ready.",
    mend="Add a flow from the nodes' zone to the storage's zone.",
)
def mount_without_flow(subject: Subject) -> Iterator[Problem]:
    """Mounts whose nodes have no flow to the zone of the storage they mount."""
    spec = subject.spec
    allowed = {(flow.source, flow.target) for flow in spec.flows}
    for mount in spec.mounts:
        system = spec.node_group(mount.system)
        for name in mount.nodes:
            group = spec.node_group(name)
            if group is None or system is None or group.zone is None or system.zone is None:
                continue
            if group.image and (group.zone, system.zone) not in allowed:
                yield Problem(
                    mount.path,
                    f"{mount.mountpoint} needs a flow from zone {group.zone} to {system.zone}.",
                    "Add it under `flows:` with its port and reason.",
                )
