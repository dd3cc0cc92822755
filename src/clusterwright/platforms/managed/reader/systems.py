"""Systems of managed InfiniBand switches, as systems that are read."""

from __future__ import annotations

import re

from clusterwright.platforms.managed.reader.mlnxos_lists import MlnxOsLists
from clusterwright.platforms.managed.reader.mlnxos_routes import routes as mlnxos_routes
from clusterwright.platforms.managed.reader.nvos_lists import NvosLists
from clusterwright.platforms.managed.reader.nvos_routes import routes as nvos_routes
from clusterwright.platforms.reader import SystemReader, Unsupported

_KINDS = frozenset({"managed-switch"})
_NO_ROUTER = Unsupported("a subnet manager says how it forwards")
_NO_SERVICES = Unsupported("the management port's list names the ports of services")

MLNX_OS = SystemReader(
    system="mlnx-os",
    file="var/opt/tms/text-configs/clusterwright",
    kinds=_KINDS,
    router=_NO_ROUTER,
    lists=MlnxOsLists,
    openings={},
    unread={},
    services=_NO_SERVICES,
    routes={"text-configs/clusterwright": mlnxos_routes},
    named=re.compile(r"^(?:interface|(?:ip|ipv6) filter) .*$", re.M),
    policy_lines=_NO_ROUTER,
    is_stateful=True,
)
NVOS = SystemReader(
    system="nvos",
    file="etc/nvue.d/startup.yaml",
    kinds=_KINDS,
    router=_NO_ROUTER,
    lists=NvosLists,
    openings={},
    unread={},
    services=_NO_SERVICES,
    routes={"etc/nvue.d/startup.yaml": nvos_routes},
    named=re.compile(r"^ +(?:(?:source|dest)-ip: .*|\"[0-9a-f.:]+/\d+\": \{\})$", re.M),
    policy_lines=_NO_ROUTER,
)
