"""The readers of FBOSS."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusterwright.facts.reader import LOGINS as LOGIN_SERVERS
from clusterwright.facts.reader import LOGS, PASSWORDS, SNMP, TIME, SystemReader, Unsupported, nothing_silent
from clusterwright.hosts.linux.reader.logins import LOGINS, SERVERS
from clusterwright.switches.fboss.reader.configuration import AGENT, BGP, read_fboss
from clusterwright.switches.fboss.reader.lists import FbossLists
from clusterwright.switches.fboss.reader.normal_form import normal_form
from clusterwright.switches.fboss.reader.openings import (
    host_addresses,
    log_servers,
    name_servers,
    openings,
    relays,
    session_openings,
    time_servers,
)
from clusterwright.switches.fboss.reader.routes import routes
from clusterwright.switches.fboss.reader.unread import agent_unread, bgp_unread
from clusterwright.switches.fboss.reader.values import AGENT_VALUES, BGP_VALUES

_PROFILE = "etc/NetworkManager/system-connections/eth0.nmconnection"


def policy_lines(text: str) -> Iterable[str]:
    """Lines of peer groups and policies."""
    groups = text[text.find('"peer_groups"') : text.find('"peers"')]
    return (groups + text[text.find('"policies"') :]).split("\n")


READER = SystemReader(
    system="fboss",
    file=AGENT,
    kinds=frozenset({"fboss"}),
    router=lambda device, text: read_fboss(device, text(AGENT), text(BGP)),
    lists=FbossLists,
    openings={AGENT: openings, BGP: session_openings},
    unread={AGENT: agent_unread, BGP: bgp_unread},
    values={AGENT: AGENT_VALUES, BGP: BGP_VALUES},
    services=Unsupported("the firewall of the Linux under it says who reaches its services"),
    servers={
        **SERVERS,
        "etc/chrony.conf": time_servers,
        "etc/rsyslog.d/90-clusterwright.conf": log_servers,
        _PROFILE: name_servers,
    },
    host_addresses={_PROFILE: host_addresses},
    relays={AGENT: relays},
    logins=LOGINS,
    manages=frozenset({TIME, LOGS, LOGIN_SERVERS, PASSWORDS, SNMP}),
    silent=nothing_silent,
    routes={AGENT: routes},
    named=re.compile(r'"(?:srcIp|dstIp)": "[^"]*"'),
    policy_lines=policy_lines,
    single_ports=True,
    lists_by_port=False,
    has_host_firewall=True,
    normal_form=normal_form,
)
