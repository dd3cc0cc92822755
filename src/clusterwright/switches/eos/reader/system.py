"""The readers of EOS."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusterwright.facts.reader import (
    EAPI,
    GNMI,
    LOGINS,
    LOGS,
    NAMES,
    PASSWORDS,
    SNMP,
    SSH,
    TIME,
    FileText,
    SystemReader,
    nothing_silent,
)
from clusterwright.facts.router import Router
from clusterwright.finding import VerifyError
from clusterwright.switches.eos.reader.configuration import read_eos
from clusterwright.switches.eos.reader.lists import read_eos_lists
from clusterwright.switches.eos.reader.logins import logins
from clusterwright.switches.eos.reader.normal_form import normal_form
from clusterwright.switches.eos.reader.openings import openings, servers
from clusterwright.switches.eos.reader.routes import routes
from clusterwright.switches.eos.reader.sections import PATH
from clusterwright.switches.eos.reader.services import services
from clusterwright.switches.eos.reader.unread import known_text, unread
from clusterwright.switches.eos.reader.values import VALUES

_POLICY_WORDS = (
    "route-map ",
    "   match ",
    "   set ",
    "ip community-list ",
    "ip prefix-list ",
    "ipv6 prefix-list ",
    "   seq ",
)
_GROUP = re.compile(r"   neighbor [A-Za-z]")


def policy_lines(text: str) -> Iterable[str]:
    """Lines of route maps, lists and peer groups."""
    return filter(_is_policy_line, text.split("\n"))


def _is_policy_line(line: str) -> bool:
    return line.startswith(_POLICY_WORDS) or _GROUP.match(line) is not None


def _router(device: str, text: FileText) -> Router | None:
    """The router of a switch. Unknown lines are left out if they keep the others from being read."""
    whole = text(PATH)
    try:
        return read_eos(device, whole)
    except VerifyError:
        router = known_text(whole)
        if router == whole:
            raise
        return read_eos(device, router)


READER = SystemReader(
    system="eos",
    file=PATH,
    kinds=frozenset({"eos"}),
    router=_router,
    lists=read_eos_lists,
    openings={PATH: openings},
    unread={PATH: unread},
    values={PATH: VALUES},
    services=services,
    servers={PATH: servers},
    logins={PATH: logins},
    manages=frozenset({NAMES, TIME, LOGS, LOGINS, PASSWORDS, SSH, EAPI, SNMP, GNMI}),
    silent=nothing_silent,
    routes={PATH: routes},
    names_sources=frozenset({NAMES, TIME, LOGS, LOGINS}),
    named=re.compile(r"^ +(?:(?:ip|ipv6) address .*|\d+ (?:permit|deny) .*|seq \d+ permit .*)$", re.M),
    policy_lines=policy_lines,
    normal_form=normal_form,
)
