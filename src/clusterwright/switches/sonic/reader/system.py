"""The readers of SONiC."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusterwright.facts.reader import GNMI, LOGS, NAMES, PASSWORDS, SNMP, SSH, TIME, SystemReader
from clusterwright.facts.reader import LOGINS as LOGIN_SERVERS
from clusterwright.hosts.linux.reader.logins import LOGINS
from clusterwright.switches.sonic.reader.configuration import PATH, read_sonic
from clusterwright.switches.sonic.reader.lists import SonicLists
from clusterwright.switches.sonic.reader.normal_form import normal_form
from clusterwright.switches.sonic.reader.openings import openings, servers, silent, snmp_users, unread
from clusterwright.switches.sonic.reader.routes import routes
from clusterwright.switches.sonic.reader.services import services
from clusterwright.switches.sonic.reader.values import VALUES

_POLICY_TABLES = {"BGP_PEER_GROUP_AF", "COMMUNITY_SET", "PREFIX", "ROUTE_MAP"}


def policy_lines(text: str) -> Iterable[str]:
    """Lines of the tables behind policies."""
    tables = [table for table in text.split("\n  },") if _table_name(table) in _POLICY_TABLES]
    return "".join(tables).split("\n")


def _table_name(table: str) -> str:
    """The text between the first quotes of a table."""
    return table.strip().partition('"')[2].partition('"')[0]


READER = SystemReader(
    system="sonic",
    file=PATH,
    kinds=frozenset({"sonic"}),
    router=lambda device, text: read_sonic(device, text(PATH)),
    lists=SonicLists,
    openings={PATH: openings},
    unread={PATH: unread},
    values={PATH: VALUES},
    services=services,
    servers={PATH: servers},
    logins={PATH: snmp_users, **LOGINS},
    manages=frozenset({NAMES, TIME, LOGS, LOGIN_SERVERS, PASSWORDS, SSH, SNMP, GNMI}),
    silent=silent,
    names_sources=frozenset({TIME, LOGS, LOGIN_SERVERS}),
    routes={PATH: routes},
    named=re.compile(r'"(?:(?:SRC|DST)_IP(?:V6)?": "|eth0\|)[^"]*"'),
    policy_lines=policy_lines,
    normal_form=normal_form,
)
