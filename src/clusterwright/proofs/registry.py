"""All proof checks, in the order of their run."""

from __future__ import annotations

from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.encryption.proof import ENCRYPTION
from clusterwright.proofs.ethernet.bandwidth import ETHERNET_BISECTION
from clusterwright.proofs.ethernet.failures import ETHERNET_FAILURES
from clusterwright.proofs.ethernet.hashing import HASHING
from clusterwright.proofs.ethernet.links import LINKS
from clusterwright.proofs.ethernet.qos.proof import QOS
from clusterwright.proofs.ethernet.reachability import REACHABILITY
from clusterwright.proofs.ethernet.sessions import SESSIONS
from clusterwright.proofs.ethernet.valleys import VALLEYS
from clusterwright.proofs.infiniband.bisection import BISECTION
from clusterwright.proofs.infiniband.cabling import CABLING
from clusterwright.proofs.infiniband.failures import FAILURES
from clusterwright.proofs.infiniband.ipoib import IPOIB_CHECK
from clusterwright.proofs.infiniband.lids import LID_SPACE
from clusterwright.proofs.infiniband.manager import MANAGERS
from clusterwright.proofs.infiniband.nccl import IB_NCCL
from clusterwright.proofs.infiniband.partitions import PARTITIONS
from clusterwright.proofs.infiniband.paths import PATH_BALANCE
from clusterwright.proofs.infiniband.rails import RAIL_PURITY
from clusterwright.proofs.infiniband.routing import UP_DOWN
from clusterwright.proofs.infiniband.topology import SUBNET_TOPOLOGY
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.management import MANAGEMENT
from clusterwright.proofs.node_logins import NODE_LOGINS
from clusterwright.proofs.operation.adapter_names import ADAPTER_NAMES
from clusterwright.proofs.operation.archives import BOOT_ARCHIVES
from clusterwright.proofs.operation.boot import NETWORK_BOOT
from clusterwright.proofs.operation.contact import FIRST_CONTACT
from clusterwright.proofs.operation.credentials import CREDENTIALS
from clusterwright.proofs.operation.exchanges import EXCHANGES
from clusterwright.proofs.operation.file_servers import FILE_SERVERS
from clusterwright.proofs.operation.kueue import KUEUE
from clusterwright.proofs.operation.node_check import NODE_CHECK
from clusterwright.proofs.operation.nvlink import NVLINK_DOMAINS
from clusterwright.proofs.operation.slurm import SLURM_NODES
from clusterwright.proofs.operation.watch import ISOLATION_WATCH

CHECKS: tuple[ProofCheck, ...] = (
    CABLING,
    RAIL_PURITY,
    UP_DOWN,
    PATH_BALANCE,
    BISECTION,
    LID_SPACE,
    PARTITIONS,
    IPOIB_CHECK,
    MANAGERS,
    FAILURES,
    IB_NCCL,
    SUBNET_TOPOLOGY,
    LINKS,
    SESSIONS,
    REACHABILITY,
    VALLEYS,
    ETHERNET_BISECTION,
    ETHERNET_FAILURES,
    QOS,
    HASHING,
    ISOLATION,
    ENCRYPTION,
    FILE_SERVERS,
    MANAGEMENT,
    EXCHANGES,
    NODE_LOGINS,
    NETWORK_BOOT,
    FIRST_CONTACT,
    BOOT_ARCHIVES,
    SLURM_NODES,
    NVLINK_DOMAINS,
    KUEUE,
    NODE_CHECK,
    ADAPTER_NAMES,
    CREDENTIALS,
    ISOLATION_WATCH,
)

KINDS = frozenset().union(*(check.kinds for check in CHECKS))
"""Every kind of file read by a proof of a plan rendered in memory."""
