"""Which checks there are, in the order in which they are made."""

from __future__ import annotations

from clusterwright.verify.check import Check
from clusterwright.verify.encryption import ENCRYPTION
from clusterwright.verify.ethernet.bandwidth import ETHERNET_BISECTION
from clusterwright.verify.ethernet.failures import ETHERNET_FAILURES
from clusterwright.verify.ethernet.hashing import HASHING
from clusterwright.verify.ethernet.links import LINKS
from clusterwright.verify.ethernet.qos import QOS
from clusterwright.verify.ethernet.reachability import REACHABILITY
from clusterwright.verify.ethernet.sessions import SESSIONS
from clusterwright.verify.ethernet.valleys import VALLEYS
from clusterwright.verify.infiniband.bisection import BISECTION
from clusterwright.verify.infiniband.cabling import CABLING
from clusterwright.verify.infiniband.failures import FAILURES
from clusterwright.verify.infiniband.lids import LID_SPACE
from clusterwright.verify.infiniband.manager import MANAGERS
from clusterwright.verify.infiniband.partitions import PARTITIONS
from clusterwright.verify.infiniband.paths import PATH_BALANCE
from clusterwright.verify.infiniband.rails import RAIL_PURITY
from clusterwright.verify.infiniband.routing import UP_DOWN
from clusterwright.verify.isolation.proof import ISOLATION

CHECKS: tuple[Check, ...] = (
    CABLING,
    RAIL_PURITY,
    UP_DOWN,
    PATH_BALANCE,
    BISECTION,
    LID_SPACE,
    PARTITIONS,
    MANAGERS,
    FAILURES,
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
)
