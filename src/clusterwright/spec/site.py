"""The place a cluster stands in: names, racks on a floor, servers that every device uses, who may log in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Annotated, Any

from clusterwright.spec.allocated.ranges import expand
from clusterwright.spec.isolation import Address
from clusterwright.spec.reading import Reading, Servers
from clusterwright.spec.structuring import By
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class Operator:
    """Somebody who logs in to managed switches: ``role`` is ``admin`` or ``monitor``, ``keys`` are public SSH keys.

    ``password`` names the secret that holds the hash of a password, for consoles and eAPI; None: there is none.
    ``until`` is the last day on which they log in.
    """

    name: str
    role: str
    keys: tuple[str, ...]
    password: str | None
    until: Annotated[date | None, By(Reading.day)]
    path: Path

    @property
    def authorized_keys(self) -> tuple[str, ...]:
        """The keys as lines of authorized_keys: sshd refuses them from the day after ``until`` (sshd(8)).

        Without a zone the moment is on the machine's own clock: sshd before 9.1 reads none.
        """
        if self.until is None:
            return self.keys
        day = self.until.isoformat().replace("-", "")
        return tuple(f'expiry-time="{day}235959" {key}' for key in self.keys)


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
    servers: Servers
    secret: str
    path: Path


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Streaming telemetry over TLS. ``certificate`` names a switch's own certificate and key where the deployment keeps
    them, ``authority`` the certificate that must have signed a collector's, ``collectors`` their common names. Without
    a word ``port`` is what IANA gives to gNMI (gnmi-gnoi)."""

    port: int
    certificate: str
    authority: str
    collectors: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class SyslogTls:
    """Whom nodes send logs to: ``authority`` is the file of authorities on a node, ``names`` are those of servers."""

    authority: str
    names: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Services:
    """Addresses of the servers for names, time and logs."""

    dns: Servers
    ntp: Servers
    syslog: Servers


@dataclass(frozen=True, slots=True)
class Row:
    """A row of racks, as written: a word is a rack or a range of them (``p00r00..03``), from the row's head on."""

    name: str
    racks: tuple[str, ...]
    path: Path

    def places(self) -> Iterator[tuple[str, int]]:
        """Each rack with the index of its word. Raises ValueError for a word that is no range."""
        for index, word in enumerate(self.racks):
            for name in expand(word):
                yield name, index


@dataclass(frozen=True, slots=True)
class Floor:
    """Where racks stand in their hall, and how cables get from one to another, in metres.

    Rows lie side by side, their heads on one line, ``row_pitch_m`` from middle to middle. ``tray_m`` is the height of
    the trays above what racks stand on (negative below a raised floor). ``crossings_m`` are where trays cross the rows,
    measured from their heads; without one they cross everywhere. ``slack_m`` is what each end takes beside the way;
    ``lengths_m`` are the lengths that cables are bought in.
    """

    rows: tuple[Row, ...]
    rack_width_m: float
    row_pitch_m: float
    tray_m: float
    crossings_m: tuple[float, ...]
    slack_m: float
    lengths_m: tuple[float, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class AccountDirectory:
    """Where users and groups of jobs come from, and the ``groups`` that are there."""

    by_site: str
    groups: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Site:
    """The place: DNS domain, racks and where they stand, servers that every device uses, who may log in.

    ``management`` are the servers under the addresses by which switches reach them, over the management network;
    ``own_management`` names the services that have addresses of their own there.
    """

    domain: str
    rack_units: int
    rack_power_w: int | None
    floor: Floor | None
    dns: Servers
    ntp: Servers
    syslog: Servers
    management: Services
    operators: tuple[Operator, ...]
    snmp: SnmpAccess | None
    aaa: CentralAaa | None
    telemetry: Telemetry | None
    syslog_tls: SyslogTls | None
    directory: AccountDirectory | None
    path: Path
    own_management: frozenset[str] = frozenset()

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> Site:
        """A service that the management network has no servers of its own for is reached as everywhere."""
        management_keys = frozenset(data.get("management", {}))
        site = reading.fields(cls, data, path, own_management=management_keys)
        everywhere = {
            field.name: getattr(site, field.name) for field in fields(Services) if field.name not in management_keys
        }
        return replace(site, management=replace(site.management, **everywhere))


@dataclass(frozen=True, slots=True)
class OnieInstaller:
    """The image that ONIE installs on switches of a ``system``: a ``file`` that the site puts on the server."""

    system: str
    file: str
    path: Path


@dataclass(frozen=True, slots=True)
class FirstContact:
    """A ``server`` of the site that management switches relay requests to. ``interface`` is where it hears them, None
    for all.

    ``relay_ports`` is what the management switches' relays write into option 82 as the circuit ID, with ``{port}`` for
    the port that a request came in by; None where they write nothing.
    """

    server: Annotated[Address, By(Reading.address)]
    interface: str | None
    relay_ports: str | None
    installers: tuple[OnieInstaller, ...]
    path: Path
