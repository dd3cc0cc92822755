"""Unplanned logins to switches and SNMP access, other than the spec's operators and SNMP user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.facts.reader import Login
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation, DeclaredLogin
from clusterwright.proofs.isolation.managed import line_at, managed
from clusterwright.proofs.tree import RenderedTree


def login_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Unplanned accounts, keys, passwords and SNMP users on switches. Raises VerifyError."""
    for part in managed(tree):
        for device, path, login, system in part.logins:
            planned = declared.added_logins.get(device, declared.managed[system].logins)
            fault = _fault(login, planned, declared.snmp_users)
            if fault:
                line = line_at(tree, device, path, login.at)
                yield Counterexample(device=device, file=path, line=line, message=fault)


def _fault(login: Login, planned: Mapping[str, DeclaredLogin], users: frozenset[str]) -> str:
    if login.is_snmp:
        if login.name not in users:
            return f"the SNMP user {login.name} reads the switch, and is not planned"
        return f"the SNMP user {login.name} may write, and ought to read alone" if login.is_admin else ""
    operator = planned.get(login.name)
    if operator is None:
        return f"the account {login.name} is no operator's: the spec does not plan it"
    if login.key and login.key not in operator.keys:
        return f"the account {login.name} opens with a key that is none of its operator's"
    if login.has_password and not operator.has_password:
        return f"the account {login.name} opens with a password, and its operator has none"
    if login.is_admin and not operator.is_admin:
        return f"the account {login.name} may change the switch, and its operator may not"
    return ""
