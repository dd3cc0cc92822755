"""The services around a switch with NVUE: hostname, time, names, logs, LLDP, hashing, logins and monitoring.

No secret is written: ``<secret NAME>`` stands in its place for the deployment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import is_host_port
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.nvue.words.table import RELAY_GROUPS_SINCE, parsed_release

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import ManagementPort
    from clusterwright.spec.site import CentralAaa, Operator, Site, SnmpAccess

SYSTEM = "nvue"
ON, OFF = "on", "off"
ROLES = {"admin": "system-admin"}
LOCKED = "*"  # no password has this hash: the account has its keys alone
MANAGEMENT_VRF, DEFAULT_VRF = "mgmt", "default"
SYSLOG_PORT, TACACS_PORT, RADIUS_PORT = 514, 49, 1812
ANSWER_S = 5
RELAY_GROUP = "boot"
LLDP_INTERVAL_S = 30
HASH_FIELDS = ("destination-ip", "destination-port", "ip-protocol", "source-ip", "source-port")
# The default of these fields varies by switch, so they are written: all switches then hash over the same fields.
WITHOUT_FIELDS = ("gtp-teid", "ingress-interface", "ipv6-label")
Objects = dict[str, Any]


def system(view: SwitchView, port: ManagementPort | None) -> Objects:
    """The objects under ``system``; without a management port requests to login servers cross the fabric."""
    site = view.site
    fields = dict.fromkeys(HASH_FIELDS, ON) | dict.fromkeys(WITHOUT_FIELDS, OFF)
    forwarding: Objects = {"ecmp-hash": dict(sorted(fields.items()))}
    if view.hashing.function is not None:
        forwarding["hash-seed"] = view.hashing.function.seed
    objects: Objects = {}
    accounts = _aaa(site, _servers_vrf(port))
    if accounts:
        objects["aaa"] = accounts
    return objects | {
        "api": {"listening-address": {"localhost": {}}},
        "forwarding": forwarding,
        "hostname": view.device.name,
        "ssh-server": _ssh(view),
    }


def service(view: SwitchView, port: ManagementPort | None) -> Objects:
    """The objects under ``service``; without a management port requests to servers cross the fabric."""
    site = view.site
    servers, vrf = site.management, _servers_vrf(port)
    objects: Objects = {"lldp": {"tx-interval": LLDP_INTERVAL_S}}
    if servers.dns:
        names: Objects = {server: {} for server in servers.dns}
        objects["dns"] = {vrf: {"search": {site.domain: {}}, "server": names}}
    if servers.ntp:
        clocks: Objects = {server: {"iburst": ON} for server in servers.ntp}
        objects["ntp"] = {vrf: {"server": clocks}}
    if servers.syslog:
        logs: Objects = {server: {"port": SYSLOG_PORT, "protocol": "udp"} for server in servers.syslog}
        objects["syslog"] = {vrf: {"server": logs}}
    if site.snmp is not None:
        objects["snmp-server"] = _snmp(site.snmp, port)
    if view.relay is not None:
        objects |= _relay(view, view.relay)
    return dict(sorted(objects.items()))


def _servers_vrf(port: ManagementPort | None) -> str:
    """VRF of the servers: the management VRF for a switch with a management port."""
    return MANAGEMENT_VRF if port is not None else DEFAULT_VRF


def _ssh(view: SwitchView) -> Objects:
    objects: Objects = {
        "authentication-retries": 3,
        "inactive-timeout": 15,
        "login-timeout": 60,
        "permit-root-login": "disabled",
        "state": "enabled",
    }
    if view.management is not None:
        objects["vrf"] = {MANAGEMENT_VRF: {}}
    return objects


def _aaa(site: Site, vrf: str) -> Objects:
    objects: Objects = {}
    if site.aaa is not None:
        objects |= _central(site.aaa, vrf)
    if site.operators:
        objects["user"] = {operator.name: _user(operator) for operator in site.operators}
    return objects


def _user(operator: Operator) -> Objects:
    """An account: its keys, and its password as the deployment hashes it, or none."""
    keys: Objects = {}
    for number, text in enumerate(operator.keys, 1):
        kind, key = text.split(" ")[:2]
        keys[f"key{number}"] = {"key": key, "type": kind}
    return {
        "hashed-password": LOCKED if operator.password is None else f"<secret {operator.password} as crypt>",
        "role": ROLES.get(operator.role, "nvue-monitor"),
        "ssh": {"authorized-key": keys},
    }


def _central(aaa: CentralAaa, vrf: str) -> Objects:
    """Servers in the spec's order (the lowest priority comes first), then local accounts if no server answers."""
    secret = f"<secret {aaa.secret}>"
    order = {"10": aaa.protocol, "20": "local"}
    ranked: Objects = {}
    for number, server in enumerate(aaa.servers, 1):
        if aaa.protocol == "tacacs":
            ranked[str(number)] = {"host": server, "port": TACACS_PORT, "secret": secret}
        else:
            ranked[server] = {"port": RADIUS_PORT, "priority": number, "secret": secret}
    objects = {"enable": ON, "server": ranked, "timeout": ANSWER_S, "vrf": vrf}
    return {"authentication-order": order, aaa.protocol: objects}


def _snmp(snmp: SnmpAccess, port: ManagementPort | None) -> Objects:
    secrets: Objects = {f"<secret {snmp.authentication}>": {"encrypt-aes": {f"<secret {snmp.privacy}>": {}}}}
    listening: Objects = {"all": {}}
    if port is not None and port.address is not None:
        address = port.address.partition("/")[0]
        listening = {address: {"vrf": MANAGEMENT_VRF}}
    return {"enable": ON, "listening-address": listening, "username": {snmp.user: {"auth-sha": secrets}}}


def _relay(view: SwitchView, server: str) -> Objects:
    """The DHCP relay to a server."""
    if view.version == 4:
        return {"dhcp-relay": {"default": _relay_v4(view, server)}}
    # dhcrelay sends by its upstream interfaces alone: for a server behind this switch, that is the hosts' interface.
    has_server_behind = view.relay_source != view.loopback
    upstream_names = [systems()[SYSTEM].gateway] if has_server_behind else _uplinks(view)
    # "address" until Cumulus Linux 5.5: docs.nvidia.com, Cumulus Linux 5.10, DHCP Relays.
    upstream = {name: {"server-address": server} for name in upstream_names}
    downstream: Objects = {name: {} for name in _host_interfaces(view)}
    return {"dhcp-relay6": {"default": {"interface": {"downstream": downstream, "upstream": upstream}}}}


def _relay_v4(view: SwitchView, server: str) -> Objects:
    downstream, upstream = _host_interfaces(view), _uplinks(view)
    servers: Objects = {server: {}}
    if parsed_release(view.release) < RELAY_GROUPS_SINCE:
        interfaces: Objects = {name: {} for name in (*downstream, *upstream)}
        return {"interface": interfaces, "server": servers, "source-ip": "gateway"}
    upstream_interfaces: Objects = {name: {} for name in upstream or [systems()[SYSTEM].gateway]}
    return {
        "downstream-interface": {name: {"server-group-name": RELAY_GROUP} for name in downstream},
        "server-group": {RELAY_GROUP: {"server": servers, "upstream-interface": upstream_interfaces}},
        "source-ip": "gateway",
    }


def _host_interfaces(view: SwitchView) -> list[str]:
    """The interfaces of hosts' requests: the gateway of a shared subnet, or the ports to hosts."""
    if view.shares_subnet:
        return [systems()[SYSTEM].gateway]
    return [link.port.port for link in view.links if is_host_port(link)]


def _uplinks(view: SwitchView) -> list[str]:
    return sorted({link.port.port for link in view.links if link.port.side == "up"})
