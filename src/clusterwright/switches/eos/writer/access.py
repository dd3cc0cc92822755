"""Logins on an EOS switch, and collectors of its counters.

No secret is written: operators log in with SSH keys, and a password or its hash appears as ``<secret NAME>``, refused
by EOS for its blank until the deployment has put the secret in its place. An account without a password opens no remote
session by itself: EOS takes such a login from the console alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.spec.site import CentralAaa, Operator, Site, SnmpAccess, Telemetry

# EOS's words for a protocol: before a server, and as the kind of a server group.
PROTOCOLS = {"tacacs": ("tacacs", "tacacs+"), "radius": ("radius", "radius")}
KEY_WORDS = ("ssh-key", "ssh-key secondary")
ROLES = {"admin": (15, "network-admin"), "monitor": (1, "network-operator")}


@dataclass(frozen=True, slots=True)
class EosAccount:
    """An account; ``keys`` are the words before a public key, and the key.

    ``opens_by`` are the words for its other means of login: the hash of a password, or nothing.
    """

    name: str
    privilege: int
    role: str
    opens_by: str
    keys: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EosAaa:
    """Central AAA: the ``word`` in front of servers, the ``kind`` of their group, and the servers in order.

    ``by_command``: the servers authorize and record every command, not only the session.
    """

    word: str
    kind: str
    by_command: bool
    servers: tuple[str, ...]
    secret: str


@dataclass(frozen=True, slots=True)
class EosAccess:
    """Accounts, central AAA, SNMP and telemetry; None for each missing in the spec.

    ``methods`` are asked in turn for logins, ``command_methods`` for commands: without any, EOS lets each role do all
    (EOS User Manual, User Security, role-based authorization).
    """

    accounts: tuple[EosAccount, ...]
    methods: str
    command_methods: str
    aaa: EosAaa | None
    snmp: SnmpAccess | None
    telemetry: Telemetry | None


def eos_access(site: Site) -> EosAccess:
    """The access to a switch, from the spec's operators, AAA servers, SNMP user and collectors."""
    aaa = None
    methods = command_methods = "local"
    if site.aaa is not None:
        aaa = _aaa(site.aaa)
        methods = "group CENTRAL local"
        if aaa.by_command:
            command_methods = methods
    return EosAccess(
        accounts=tuple(_account(operator) for operator in site.operators),
        methods=methods,
        command_methods=command_methods,
        aaa=aaa,
        snmp=site.snmp,
        telemetry=site.telemetry,
    )


def _aaa(aaa: CentralAaa) -> EosAaa:
    word, kind = PROTOCOLS[aaa.protocol]
    return EosAaa(word=word, kind=kind, by_command=aaa.protocol == "tacacs", servers=aaa.servers, secret=aaa.secret)


def _account(operator: Operator) -> EosAccount:
    privilege, role = ROLES[operator.role]
    login = "nopassword"
    if operator.password is not None:
        login = f"secret sha512 <secret {operator.password} as sha512-crypt>"
    return EosAccount(
        name=operator.name,
        privilege=privilege,
        role=role,
        opens_by=login,
        keys=tuple(zip(KEY_WORDS, operator.keys, strict=False)),
    )
