"""The Linux under FBOSS: time, logs, logins, monitoring, and who reaches any of it over the management port.

FBOSS's image is CentOS Stream 9 with chrony, rsyslog, sshd, NetworkManager and firewalld (facebook/fboss,
fboss-image/). SNMP takes net-snmp and central logins pam_tacplus or pam_radius, which the image must be given. LLDP is
the agent's own, on by default.

No secret is written: ``<secret NAME>`` stands in its place, in files that root alone reads, and none of the programs
takes it for a password: its blank splits the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.edge import management_permits
from clusterwright.intent.edge_filters import REPLIES
from clusterwright.intent.filter_entries import ANY, ECHO_REQUEST, ICMP
from clusterwright.intent.per_plan import per_plan
from clusterwright.platforms.linux.writer.switch_accounts import HostFile, account_files
from clusterwright.platforms.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.filter_entries import Permit
    from clusterwright.intent.management_port import ManagementPort
    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan
    from clusterwright.spec.site import Telemetry

CHRONY, RSYSLOG = "etc/chrony.conf", "etc/rsyslog.d/90-clusterwright.conf"
SNMPD, PAM, RADIUS = "etc/snmp/snmpd.conf", "etc/pam.d/sshd", "etc/pam_radius.conf"
FIREWALL = "etc/firewalld/firewalld.conf"
# The zone of the management port; other interfaces are the agent's, whose access lists filter on the chip.
ZONE = "management"
ZONE_FILE = f"etc/firewalld/zones/{ZONE}.xml"
SECRET_MODE = 0o600
SYSLOG_PORT = 514
# fsdb_common.thrift: where FSDB hands out state and statistics that the agent publishes.
FSDB_PORT = 5908
PUBLISHING = {"publish_state_to_fsdb": "true", "publish_stats_to_fsdb": "true"}


Element = tuple[str, tuple[tuple[str, str], ...]]  # the XML element that says what passes, with its attributes


class FirewallRule(NamedTuple):
    """A rule of the zone: everything from ``source`` that ``element`` names, or all of it where there is none."""

    family: str
    source: str
    element: Element | None


def host_files(plan: Plan, view: SwitchView, port: ManagementPort | None) -> Iterator[HostFile]:
    """The files of one switch's Linux, beside its name and its management port's profile."""
    yield from account_files(plan)
    yield from _shared_files(plan, None if view.management is None else view.management.port.fabric)
    snmp = plan.spec.site.snmp
    if snmp is not None:
        address = None if port is None or port.address is None else port.address.partition("/")[0]
        text = template("fboss/snmpd.conf.j2").render(snmp=snmp, name=view.device.name, address=address)
        yield HostFile(SNMPD, text.encode(), SECRET_MODE)


@per_plan
def _shared_files(plan: Plan, fabric: str | None) -> tuple[HostFile, ...]:
    """What is the same on every switch whose management port is in ``fabric``."""
    site = plan.spec.site
    servers = site.management
    found = []
    if servers.ntp:
        found.append(HostFile(CHRONY, template("node/chrony.conf.j2").render(servers=servers.ntp).encode()))
    if servers.syslog:
        text = template("fboss/rsyslog.conf.j2").render(servers=servers.syslog, port=SYSLOG_PORT)
        found.append(HostFile(RSYSLOG, text.encode()))
    if site.aaa is not None:
        found.append(HostFile(PAM, template("fboss/pam-sshd.j2").render(aaa=site.aaa).encode(), SECRET_MODE))
    if site.aaa is not None and site.aaa.protocol == "radius":
        text = template("fboss/pam-radius.conf.j2").render(aaa=site.aaa)
        found.append(HostFile(RADIUS, text.encode(), SECRET_MODE))
    permits = None if fabric is None else management_permits(plan, fabric)
    if permits is not None:
        rules = tuple(dict.fromkeys(_firewall_rules(permits, site.telemetry)))
        found.append(HostFile(ZONE_FILE, template("fboss/firewalld-zone.xml.j2").render(rules=rules).encode()))
        found.append(HostFile(FIREWALL, template("fboss/firewalld.conf.j2").render().encode()))
    return tuple(found)


def firewall_zone(plan: Plan, view: SwitchView) -> str | None:
    """The zone that the management port's profile names; None where no zone of the spec holds management ports."""
    if view.management is None or management_permits(plan, view.management.port.fabric) is None:
        return None
    return ZONE


def _firewall_rules(permits: tuple[Permit, ...], telemetry: Telemetry | None) -> Iterator[FirewallRule]:
    """What may come in; the firewall keeps state, so that replies and ICMP errors need no rule.

    Who may collect over gNMI elsewhere may collect from FSDB here.
    """
    for permit in permits:
        if permit.name.endswith(REPLIES):
            continue
        for source in permit.sources:
            for element in _elements(permit, telemetry):
                yield FirewallRule(f"ipv{permit.version}", str(source), element)


def _elements(permit: Permit, telemetry: Telemetry | None) -> Iterator[Element | None]:
    """What a flow lets in: ports, a whole protocol, a ping, or everything (None)."""
    if permit.protocol == ANY:
        yield None
    elif permit.protocol == ICMP:
        if permit.types == (ECHO_REQUEST[permit.version],):
            yield "icmp-type", (("name", "echo-request"),)
    elif not permit.target_ports:
        yield "protocol", (("value", permit.protocol),)
    else:
        ranges = list(permit.target_ports)
        if telemetry is not None and any(low <= telemetry.port <= high for low, high in ranges):
            ranges.append((FSDB_PORT, FSDB_PORT))
        for low, high in ranges:
            words = str(low) if low == high else f"{low}-{high}"
            yield "port", (("port", words), ("protocol", permit.protocol))
