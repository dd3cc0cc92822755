"""Access to a SONiC switch: SSH, central AAA, SNMP v3, gNMI, and the admitted sources of these services.

No secret is written. ``<secret/NAME>`` stands in its place for the deployment; the slash is there because SONiC's
models take no blank in a password, and check every other character of the file too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import service_sources
from clusterwright.plan.model import fabric_of
from clusterwright.switches.sonic.writer.services import source_interface

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import ManagementPort
    from clusterwright.plan.model import Plan
    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.site import CentralAaa, Site, SnmpAccess, Telemetry

# The folder of services' certificates in SONiC's documentation; its models require the suffixes .cer and .key.
CREDENTIALS = "/etc/sonic/credentials"
# sonic-gnmi permits a collector with this role to read, and refuses its changes.
READ_ONLY = "gnmi_readonly"
SSH_PORT, SNMP_PORT, TACACS_PORT, RADIUS_PORT = 22, 161, 49, 1812
ANSWER_S = 5
HIGHEST_PRIORITY = 9999


def secret(name: str) -> str:
    """The placeholder of a secret kept by the deployment."""
    return f"<secret/{name}>"


def access_tables(plan: Plan, view: SwitchView, port: ManagementPort | None) -> dict[str, Any]:
    """The tables; ``port`` is the out-of-band port of the services."""
    site = view.site
    ssh = {
        "authentication_retries": "3",
        "login_timeout": "60",
        "inactivity_timeout": "15",
        "permit_root_login": "no",
        "password_authentication": "false",
    }
    tables: dict[str, Any] = {"SSH_SERVER": {"POLICIES": ssh}}
    if site.aaa is not None:
        tables |= _aaa(site.aaa, view, port)
    if site.snmp is not None:
        tables |= _snmp(site.snmp, port)
    if site.telemetry is not None:
        tables |= _telemetry(site.telemetry)
    if view.management is not None:
        tables |= _control_plane(plan, fabric_of(plan, view.management.port.fabric), site)
    return tables


def _aaa(aaa: CentralAaa, view: SwitchView, port: ManagementPort | None) -> dict[str, Any]:
    """Servers in the spec's order (the highest priority comes first), then local accounts if no server answers."""
    vrf: dict[str, str] = {}
    source: dict[str, str] = {}
    interface = source_interface(view)
    if port is not None:
        vrf = {"vrf": "mgmt"}
        source = {"src_intf": port.port}
    elif interface is not None:
        source = {"src_intf": interface[0]}
    shared = {"passkey": secret(aaa.secret), "timeout": str(ANSWER_S), "auth_type": "pap"}
    if aaa.protocol == "tacacs":
        methods = {"login": "tacacs+,local"}
        return {
            "AAA": {
                "authentication": methods | {"failthrough": "False"},
                "authorization": methods,
                "accounting": methods,
            },
            "TACPLUS": {"global": shared | source},
            "TACPLUS_SERVER": _ranked_servers(aaa.servers, {"tcp_port": str(TACACS_PORT)} | vrf),
        }
    return {
        "AAA": {"authentication": {"login": "radius,local", "failthrough": "False"}},
        "RADIUS": {"global": shared},
        "RADIUS_SERVER": _ranked_servers(aaa.servers, {"auth_port": str(RADIUS_PORT)} | vrf | source),
    }


def _ranked_servers(servers: Sequence[str], settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The servers with equal settings, and falling priorities in the order of the spec."""
    ranked = {}
    for index, server in enumerate(servers):
        ranked[server] = {"priority": str(len(servers) - index), **settings}
    return ranked


def _snmp(snmp: SnmpAccess, port: ManagementPort | None) -> dict[str, Any]:
    user = {
        "SNMP_USER_TYPE": "Priv",
        "SNMP_USER_PERMISSION": "RO",
        "SNMP_USER_AUTH_TYPE": "SHA",
        "SNMP_USER_AUTH_PASSWORD": secret(snmp.authentication),
        "SNMP_USER_ENCRYPTION_TYPE": "AES",
        "SNMP_USER_ENCRYPTION_PASSWORD": secret(snmp.privacy),
    }
    tables: dict[str, Any] = {"SNMP_USER": {snmp.user: user}}
    if port is not None and port.address is not None:
        address = port.address.partition("/")[0]
        tables["SNMP_AGENT_ADDRESS_CONFIG"] = {f"{address}|{SNMP_PORT}|mgmt": {}}
    return tables


def _telemetry(telemetry: Telemetry) -> dict[str, Any]:
    """No ``vrf``: no release has it, and sockets of the default VRF take connections of every other
    (sonic-buildimage, branches, sonic-gnmi.yang; sysctl-net.conf: tcp_l3mdev_accept).
    """
    server = {"port": str(telemetry.port), "client_auth": "true", "user_auth": "cert", "log_level": "2"}
    return {
        "GNMI": {
            "certs": {
                "ca_crt": f"{CREDENTIALS}/{telemetry.authority}.cer",
                "server_crt": f"{CREDENTIALS}/{telemetry.certificate}.cer",
                "server_key": f"{CREDENTIALS}/{telemetry.certificate}.key",
            },
            "gnmi": server,
        },
        "GNMI_CLIENT_CERT": {name: {"role": [READ_ONLY]} for name in telemetry.collectors},
    }


def _control_plane(plan: Plan, fabric: Fabric, site: Site) -> dict[str, Any]:
    """Access lists of the listening services, from the flows to management ports; none without their zone.

    SONiC drops all other traffic to a service as soon as any such list has a rule; without one (no flow names any of
    these services) everything passes, so a list without a source denies everything explicitly.
    """
    if fabric.addressing is None:
        return {}
    any_source = {4: {"SRC_IP": "0.0.0.0/0"}, 6: {"SRC_IPV6": "::/0"}}[fabric.addressing.hosts.version]
    tables: dict[str, dict[str, Any]] = {}
    rules: dict[str, dict[str, str]] = {}
    services = [("SSH", "SSH_SOURCES", "tcp", SSH_PORT)]
    if site.snmp is not None:
        services.append(("SNMP", "SNMP_SOURCES", "udp", SNMP_PORT))
    if site.telemetry is not None:
        services.append(("EXTERNAL_CLIENT", "GNMI_SOURCES", "tcp", site.telemetry.port))
    for service, name, protocol, number in services:
        sources = service_sources(plan, fabric.name, protocol, number)
        if sources is None:
            return {}
        tables[name] = {"type": "CTRLPLANE", "services": [service], "policy_desc": f"who reaches {service}"}
        if not sources:
            rules[f"{name}|RULE_1"] = {"PRIORITY": "1", "PACKET_ACTION": "DROP", **any_source}
        for index, source in enumerate(sources):
            source_field = "SRC_IP" if source.version == 4 else "SRC_IPV6"
            rule = {
                "PRIORITY": str(HIGHEST_PRIORITY - index),
                "PACKET_ACTION": "ACCEPT",
                source_field: str(source),
            }
            if service == "EXTERNAL_CLIENT":
                rule["L4_DST_PORT"] = str(number)
            rules[f"{name}|RULE_{index + 1}"] = rule
    return {"ACL_TABLE": tables, "ACL_RULE": rules}
