"""The Linux under FBOSS: time, logs, logins, monitoring, and access to them over the management port.

FBOSS's image is CentOS Stream 9 with chrony, rsyslog, sshd, NetworkManager and firewalld (facebook/fboss,
fboss-image/). SNMP requires net-snmp, and central logins pam_tacplus or pam_radius; these must be added to the image.
LLDP is the agent's own, on by default.

No secret is written: ``<secret NAME>`` stands in its place, in files readable for root alone, and no program takes it
for a password: its blank splits the line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.hosts.linux.writer.switch_accounts import PLAIN, account_files
from clusterwright.intent.edge import management_permits
from clusterwright.intent.edge_filters import REPLIES
from clusterwright.intent.filter_entries import ANY, ECHO_REQUEST, ICMP
from clusterwright.intent.switch import site_of_system
from clusterwright.text.places import PLACE, as_format
from clusterwright.text.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.device_files.writer import SharedFile
    from clusterwright.intent.device_kind import SwitchKind
    from clusterwright.intent.filter_entries import Permit
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import ManagementPort
    from clusterwright.plan.model import Plan
    from clusterwright.spec.site import SnmpAccess, Telemetry

CHRONY, RSYSLOG = "etc/chrony.conf", "etc/rsyslog.d/90-clusterwright.conf"
SNMPD, PAM, RADIUS = "etc/snmp/snmpd.conf", "etc/pam.d/sshd", "etc/pam_radius.conf"
FIREWALL = "etc/firewalld/firewalld.conf"
# The zone of the management port; other interfaces are the agent's, whose access lists filter on the chip.
ZONE = "management"
ZONE_FILE = f"etc/firewalld/zones/{ZONE}.xml"
SECRET_MODE = 0o600
SYSLOG_PORT = 514
# fsdb_common.thrift: FSDB's port for state and statistics published by the agent.
FSDB_PORT = 5908
PUBLISHING = {"publish_state_to_fsdb": "true", "publish_stats_to_fsdb": "true"}


Element = tuple[str, tuple[tuple[str, str], ...]]  # the XML element of the accepted traffic, with its attributes


class FirewallRule(NamedTuple):
    """A rule of the zone: traffic from ``source`` with ``element``, or all of it without one."""

    family: str
    source: str
    element: Element | None


def snmpd_conf(snmp: SnmpAccess, name: str, port: ManagementPort | None) -> bytes:
    """net-snmp's configuration on the switch ``name``, listening at its management port alone."""
    if port is None or port.address is None:
        return (_snmpd_lines(snmp, None) % name).encode()
    address = port.address.partition("/")[0]
    if port.version == 6:
        address = f"[{address}]"
    return (_snmpd_lines(snmp, PLACE) % (address, name)).encode()


@lru_cache(maxsize=16)
def _snmpd_lines(snmp: SnmpAccess, address: str | None) -> str:
    """A format string for the name of the switch, after its address if it has one."""
    return as_format(template("fboss/snmpd.conf.j2").render(snmp=snmp, name=PLACE, address=address))


def shared_files(plan: Plan, kind: SwitchKind) -> tuple[SharedFile, ...]:
    """Linux files common to every switch of a kind."""
    site = site_of_system(plan, kind.system)
    servers = site.management
    files = [*account_files(plan, kind)]
    if servers.ntp:
        files.append((CHRONY, template("node/chrony.conf.j2").render(servers=servers.ntp).encode(), PLAIN))
    if servers.syslog:
        text = template("fboss/rsyslog.conf.j2").render(servers=servers.syslog, port=SYSLOG_PORT)
        files.append((RSYSLOG, text.encode(), PLAIN))
    if site.aaa is not None:
        files.append((PAM, template("fboss/pam-sshd.j2").render(aaa=site.aaa).encode(), SECRET_MODE))
    if site.aaa is not None and site.aaa.protocol == "radius":
        text = template("fboss/pam-radius.conf.j2").render(aaa=site.aaa)
        files.append((RADIUS, text.encode(), SECRET_MODE))
    permits = None if kind.management is None else management_permits(plan, kind.management)
    if permits is not None:
        rules = tuple(dict.fromkeys(_firewall_rules(permits, site.telemetry)))
        files.append((ZONE_FILE, template("fboss/firewalld-zone.xml.j2").render(rules=rules).encode(), PLAIN))
        files.append((FIREWALL, template("fboss/firewalld.conf.j2").render().encode(), PLAIN))
    return tuple(files)


def firewall_zone(plan: Plan, view: SwitchView) -> str | None:
    """The zone in the management port's profile; None without a zone of management ports in the spec."""
    if view.management is None or management_permits(plan, view.management.port.fabric) is None:
        return None
    return ZONE


def _firewall_rules(permits: tuple[Permit, ...], telemetry: Telemetry | None) -> Iterator[FirewallRule]:
    """Incoming permits; the firewall keeps state, so replies and ICMP errors need no rule.

    Collectors over gNMI elsewhere are collectors from FSDB here.
    """
    for permit in permits:
        if permit.name.endswith(REPLIES):
            continue
        for source in permit.sources:
            for element in _elements(permit, telemetry):
                yield FirewallRule(f"ipv{permit.version}", str(source), element)


def _elements(permit: Permit, telemetry: Telemetry | None) -> Iterator[Element | None]:
    """Traffic of a flow: ports, a whole protocol, a ping, or everything (None)."""
    if permit.protocol == ANY:
        yield None
    elif permit.protocol == ICMP:
        if permit.types == (ECHO_REQUEST[permit.version],):
            yield "icmp-type", (("name", "echo-request"),)
    elif not permit.target_ports:
        yield "protocol", (("value", permit.protocol),)
    else:
        ranges = list(permit.target_ports)
        if telemetry is not None and _has_port(ranges, telemetry.port):
            ranges.append((FSDB_PORT, FSDB_PORT))
        for low, high in ranges:
            words = str(low) if low == high else f"{low}-{high}"
            yield "port", (("port", words), ("protocol", permit.protocol))


def _has_port(ranges: Iterable[tuple[int, int]], port: int) -> bool:
    return any(low <= port <= high for low, high in ranges)
