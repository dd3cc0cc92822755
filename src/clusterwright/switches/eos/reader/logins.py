"""Logins on an EOS switch: local accounts, their keys and passwords, and users of SNMP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.facts.reader import Login

_FIRST = 15  # the privilege from which on a session may change the switch
_LINE = re.compile(r"\n(?:username|snmp-server user) (?P<name>\S+) (?P<rest>.*)")
_ACCOUNT = re.compile(r"privilege (?P<privilege>\d+) role (?P<role>\S+)(?P<secret> secret .*)?(?: nopassword)?")
# Roles bind nobody before this says so: every account may then change the switch.
_BY_ROLE = re.compile(r"\naaa authorization commands all default (?:group \S+ )?local(?=\n)")
_KEY = re.compile(r"(?:ssh-key|sshkey) (?:secondary )?(?P<key>\S+ \S+)")


def logins(path: str, text: str) -> Iterator[Login]:
    """Every account, each of its keys, and every user of SNMP."""
    is_by_role = _BY_ROLE.search(f"\n{text}") is not None
    for match in _LINE.finditer(f"\n{text}"):
        name, rest = match["name"], match["rest"]
        key, account = _KEY.match(rest), _ACCOUNT.fullmatch(rest)
        reads = (
            account is not None
            and is_by_role
            and account["role"] == "network-operator"
            and int(account["privilege"]) < _FIRST
        )
        yield Login(
            match.start(),
            name,
            is_snmp=match[0].startswith("\nsnmp-server"),
            key="" if key is None else key["key"],
            has_password=account is not None and account["secret"] is not None,
            is_admin=account is not None and not reads,
        )
