"""The readers of managed InfiniBand switches' systems."""

from __future__ import annotations

import re

from clusterwright.facts.reader import LOGS, NAMES, SNMP, TIME, SystemReader, Unsupported
from clusterwright.switches.managed.reader import mlnxos, nvos, values
from clusterwright.switches.managed.reader.mlnxos_lists import MlnxOsLists
from clusterwright.switches.nvue.reader.lists import NvueLists
from clusterwright.switches.nvue.reader.logins import logins as nvue_logins

_KINDS = frozenset({"managed-switch"})
_NO_ROUTER = Unsupported("a subnet manager says how it forwards")
_NO_SERVICES = Unsupported("the management port's list names the ports of services")

MLNX_OS = SystemReader(
    system="mlnx-os",
    file=mlnxos.PATH,
    kinds=_KINDS,
    router=_NO_ROUTER,
    lists=MlnxOsLists,
    openings={mlnxos.PATH: mlnxos.openings},
    unread={mlnxos.PATH: mlnxos.unread},
    values={mlnxos.PATH: values.MLNX_OS},
    services=_NO_SERVICES,
    servers={mlnxos.PATH: mlnxos.servers},
    logins={mlnxos.PATH: mlnxos.logins},
    manages=frozenset({NAMES, TIME, LOGS, SNMP}),
    silent=mlnxos.silent,
    routes={mlnxos.PATH: mlnxos.routes},
    named=re.compile(r"^(?:interface|(?:ip|ipv6) filter) .*$", re.M),
    policy_lines=_NO_ROUTER,
    is_stateful=True,
)
NVOS = SystemReader(
    system="nvos",
    file=nvos.PATH,
    kinds=_KINDS,
    router=_NO_ROUTER,
    lists=NvueLists,
    openings={nvos.PATH: nvos.openings},
    unread={nvos.PATH: nvos.KNOWN.unread},
    values={nvos.PATH: values.NVOS},
    services=_NO_SERVICES,
    servers={nvos.PATH: nvos.servers},
    logins={nvos.PATH: nvue_logins},
    manages=frozenset({NAMES, TIME, LOGS}),
    silent=nvos.silent,
    routes={nvos.PATH: nvos.routes},
    named=re.compile(r"^ +(?:(?:source|dest)-ip: .*|\"[0-9a-f.:]+/\d+\": \{\})$", re.M),
    policy_lines=_NO_ROUTER,
)
