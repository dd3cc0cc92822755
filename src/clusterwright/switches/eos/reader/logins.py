"""Logins on an EOS switch: local accounts, their keys and passwords, and users of SNMP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.facts.reader import Login

_ADMIN_PRIVILEGE = 15  # the lowest privilege of a session that may change the switch
_LINE = re.compile(r"\n(?:username|snmp-server user) (?P<name>\S+) (?P<rest>.*)")
_ACCOUNT = re.compile(r"privilege (?P<privilege>\d+) role (?P<role>\S+)(?P<secret> secret .*)?(?: nopassword)?")
# Without this statement EOS ignores roles, and every account may change the switch.
_BY_ROLE = re.compile(r"\naaa authorization commands all default (?:group \S+ )?local(?=\n)")
_KEY = re.compile(r"(?:ssh-key|sshkey) (?:secondary )?(?P<key>\S+ \S+)")


def logins(path: str, text: str) -> Iterator[Login]:
    """Every account, each of its keys, and every user of SNMP."""
    is_by_role = _BY_ROLE.search(f"\n{text}") is not None
    for match in _LINE.finditer(f"\n{text}"):
        name, rest = match["name"], match["rest"]
        key, account = _KEY.match(rest), _ACCOUNT.fullmatch(rest)
        has_password = is_admin = False
        if account is not None:
            is_operator = account["role"] == "network-operator" and int(account["privilege"]) < _ADMIN_PRIVILEGE
            is_admin = not (is_by_role and is_operator)
            has_password = account["secret"] is not None
        yield Login(
            at=match.start(),
            name=name,
            is_snmp=match[0].startswith("\nsnmp-server"),
            key="" if key is None else key["key"],
            has_password=has_password,
            is_admin=is_admin,
        )
