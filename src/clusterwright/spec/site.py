"""The place of a cluster: names, racks in a hall, servers used by every device, and people with a login."""

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
    """A person with a login on managed switches: ``role`` is ``admin`` or ``monitor``, ``keys`` are public SSH keys.

    ``password`` names the secret with the hash of a password, for consoles and eAPI; None without one. ``until`` is the
    last day of access.
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

        Without a zone the time is on the machine's clock: sshd before 9.1 accepts no zone.
        """
        if self.until is None:
            return self.keys
        day = self.until.isoformat().replace("-", "")
        return tuple(f'expiry-time="{day}235959" {key}' for key in self.keys)


@dataclass(frozen=True, slots=True)
class SnmpAccess:
    """SNMP v3 for monitoring: a user, and the names of the secrets for authentication and encryption."""

    user: str
    authentication: str
    privacy: str
    path: Path


@dataclass(frozen=True, slots=True)
class CentralAaa:
    """Servers for the authentication of operators, by ``protocol`` (tacacs or radius); ``secret`` names the shared
    one."""

    protocol: str
    servers: Servers
    secret: str
    path: Path


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Streaming telemetry over TLS.

    ``certificate`` names a switch's certificate and key in the deployment's secrets, ``authority`` the certificate that
    must have signed a collector's, ``collectors`` their common names. The default ``port`` is IANA's for gNMI
    (gnmi-gnoi)."""

    port: int
    certificate: str
    authority: str
    collectors: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class SyslogTls:
    """Nodes' log servers over TLS: ``authority`` is the file of authorities on a node, ``names`` are the servers'
    names."""

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
    """A row of racks: a word is a rack or a range of them (``p00r00..03``), from the row's head on."""

    name: str
    racks: tuple[str, ...]
    path: Path

    def places(self) -> Iterator[tuple[str, int]]:
        """Each rack with the index of its word. Raises ValueError for an invalid range."""
        for index, word in enumerate(self.racks):
            for name in expand(word):
                yield name, index


@dataclass(frozen=True, slots=True)
class Floor:
    """Positions of racks in their hall, and the cable paths between them, in metres."""

    rows: tuple[Row, ...]
    rack_width_m: float
    row_pitch_m: float
    """From middle to middle of rows; these lie side by side, their heads on one line."""
    tray_m: float
    """Height of the trays above the floor of the racks; negative below a raised floor."""
    crossings_m: tuple[float, ...]
    """Crossings of trays and rows, measured from the rows' heads; without one they cross everywhere."""
    slack_m: float
    """Extra length at each end of a cable."""
    lengths_m: tuple[float, ...]
    """Available lengths of cables."""
    path: Path


@dataclass(frozen=True, slots=True)
class AccountDirectory:
    """Source of the users and groups of jobs, with the ``groups`` in it."""

    by_site: str
    groups: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Site:
    """The place: DNS domain, racks with their positions, servers used by every device, and people with a login.

    ``management`` are the addresses of the servers for switches, over the management network; ``own_management`` names
    the services with separate addresses there.
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
        """Read a site; a service without servers of the management network is reached by its general addresses."""
        management_keys = frozenset(data.get("management", {}))
        site = reading.fields(cls, data, path, own_management=management_keys)
        general = {}
        for field in fields(Services):
            if field.name not in management_keys:
                general[field.name] = getattr(site, field.name)
        return replace(site, management=replace(site.management, **general))


@dataclass(frozen=True, slots=True)
class OnieInstaller:
    """The image installed by ONIE on switches of a ``system``: a ``file`` provided by the site on the server."""

    system: str
    file: str
    path: Path


@dataclass(frozen=True, slots=True)
class FirstContact:
    """A ``server`` of the site that gets relayed requests from management switches.

    ``interface`` is the one with these requests, None for all. ``relay_ports`` is the circuit ID of the management
    switches' relays in option 82, with ``{port}`` for the port of a request; None without a circuit ID.
    """

    server: Annotated[Address, By(Reading.address)]
    interface: str | None
    relay_ports: str | None
    installers: tuple[OnieInstaller, ...]
    path: Path
