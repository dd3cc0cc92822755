"""The place a cluster stands in: names, servers that every device uses, who may log in."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class Operator:
    """Somebody who logs in to managed switches: ``role`` is ``admin`` or ``monitor``, ``keys`` are public SSH keys.

    ``password`` names the secret that holds the hash of a password, for consoles and eAPI; None: there is none.
    """

    name: str
    role: str
    keys: tuple[str, ...]
    password: str | None
    path: Path


@dataclass(frozen=True, slots=True)
class SnmpAccess:
    """SNMP v3 for monitoring: a user, and the names of the secrets that authenticate and encrypt."""

    user: str
    authentication: str
    privacy: str
    path: Path


@dataclass(frozen=True, slots=True)
class CentralAaa:
    """Servers that say who an operator is, by ``protocol`` (tacacs or radius); ``secret`` names the shared one."""

    protocol: str
    servers: tuple[str, ...]
    secret: str
    path: Path


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Streaming telemetry over TLS. ``certificate`` names a switch's own certificate and key where the deployment keeps
    them, ``authority`` the certificate that must have signed a collector's, ``collectors`` their common names."""

    port: int
    certificate: str
    authority: str
    collectors: tuple[str, ...]
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
    aaa: CentralAaa | None
    telemetry: Telemetry | None
    path: Path
