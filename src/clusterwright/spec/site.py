"""The place a cluster stands in: names, servers that every device uses, who may log in."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.document import Path


@dataclass(frozen=True, slots=True)
class Operator:
    """Somebody who logs in to managed switches: ``role`` is ``admin`` or ``monitor``, ``keys`` are public SSH keys."""

    name: str
    role: str
    keys: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class SnmpAccess:
    """SNMP v3 for monitoring: a user, and the names of the secrets that authenticate and encrypt."""

    user: str
    authentication: str
    privacy: str
    path: Path


@dataclass(frozen=True, slots=True)
class Services:
    """Addresses of the servers for names, time and logs."""

    dns: tuple[str, ...]
    ntp: tuple[str, ...]
    syslog: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """Names and services of the place: DNS domain, rack height, servers that every device uses, who may log in.

    ``management`` are the servers under the addresses by which switches reach them, over the management network.
    """

    domain: str
    rack_units: int
    dns: tuple[str, ...]
    ntp: tuple[str, ...]
    syslog: tuple[str, ...]
    management: Services
    operators: tuple[Operator, ...]
    snmp: SnmpAccess | None
    path: Path
