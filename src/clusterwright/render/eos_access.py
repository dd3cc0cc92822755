"""Who may log in to an EOS switch and who may read its counters.

No secret is written: operators log in with SSH keys, and an SNMP password appears as ``<secret NAME>``, which EOS
refuses for its blank until the deployment has put the password in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.spec.site import Operator, Site, SnmpAccess

ROLES = {"admin": (15, "network-admin"), "monitor": (1, "network-operator")}


@dataclass(frozen=True, slots=True)
class EosAccount:
    """An account without a password; ``keys`` are the words before a public key, and the key."""

    name: str
    privilege: int
    role: str
    keys: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EosAccess:
    """Accounts and SNMP access; None where the spec names none."""

    accounts: tuple[EosAccount, ...]
    snmp: SnmpAccess | None


def eos_access(site: Site) -> EosAccess:
    """The access to a switch, from the spec's operators and SNMP user."""
    return EosAccess(tuple(_account(operator) for operator in site.operators), site.snmp)


def _account(operator: Operator) -> EosAccount:
    privilege, role = ROLES[operator.role]
    words = ("ssh-key", "ssh-key secondary")
    return EosAccount(operator.name, privilege, role, tuple(zip(words, operator.keys, strict=False)))
