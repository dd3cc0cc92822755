"""The readers of NVUE."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from clusterwright.facts.reader import LOGINS, LOGS, NAMES, PASSWORDS, SNMP, TIME, SystemReader, Unsupported
from clusterwright.switches.nvue.reader.configuration import PATH, read_nvue
from clusterwright.switches.nvue.reader.known import KNOWN
from clusterwright.switches.nvue.reader.lists import NvueLists
from clusterwright.switches.nvue.reader.logins import logins
from clusterwright.switches.nvue.reader.normal_form import normal_form
from clusterwright.switches.nvue.reader.openings import openings, routes, servers, silent
from clusterwright.switches.nvue.reader.values import VALUES

_POLICY = re.compile(r"^    router:\n(?:     .*\n)*|^          peer-group:\n(?:           .*\n)*", re.M)


def policy_lines(text: str) -> Iterable[str]:
    """Lines of policies and peer groups."""
    return chain.from_iterable(part.split("\n") for part in _POLICY.findall(text))


READER = SystemReader(
    system="nvue",
    file=PATH,
    kinds=frozenset({"nvue"}),
    router=lambda device, text: read_nvue(device, text(PATH)),
    lists=NvueLists,
    openings={PATH: openings},
    unread={PATH: KNOWN.unread},
    values={PATH: VALUES},
    services=Unsupported("the management port's list names the ports of services"),
    servers={PATH: servers},
    logins={PATH: logins},
    manages=frozenset({NAMES, TIME, LOGS, LOGINS, PASSWORDS, SNMP}),
    silent=silent,
    routes={PATH: routes},
    names_sources=frozenset({NAMES, TIME, LOGS, LOGINS}),
    named=re.compile(r"^ +(?:(?:source|dest)-ip: .*|\"?[0-9a-f.:]+/\d+\"?: (?:\{\})?)$", re.M),
    policy_lines=policy_lines,
    normal_form=normal_form,
)
