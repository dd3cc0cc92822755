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
LOCKED = "*"  # a password that none is: the account has its keys alone
MANAGEMENT_VRF, DEFAULT_VRF = "mgmt", "default"
SYSLOG_PORT, TACACS_PORT, RADIUS_PORT = 514, 49, 1812
ANSWER_S = 5
RELAY_GROUP = "boot"
LLDP_INTERVAL_S = 30
HASH_FIELDS = ("destination-ip", "destination-port", "ip-protocol", "source-ip", "source-port")
# On a switch these are on as NVUE comes, or not at all: written, so that all switches spread by the same.
WITHOUT_FIELDS = ("gtp-teid", "ingress-interface", "ipv6-label")
Objects = dict[str, Any]


def system(view: SwitchView, port: ManagementPort | None) -> Objects:
    """The objects under ``system``; without a management port servers of logins are asked over the fabric."""
    site = view.site
    fields = dict.fromkeys(HASH_FIELDS, ON) | dict.fromkeys(WITHOUT_FIELDS, OFF)
    forwarding: Objects = {"ecmp-hash": dict(sorted(fields.items()))}
    if view.hashing.function is not None:
        forwarding["hash-seed"] = view.hashing.function.seed
    objects: Objects = {
        "api": {"listening-address": {"localhost": {}}},
        "forwarding": forwarding,
        "hostname": view.device.name,
        "ssh-server": _ssh(view),
    }
    accounts = _aaa(site, _servers_vrf(port))
    return ({"aaa": accounts} if accounts else {}) | objects


def service(view: SwitchView, port: ManagementPort | None) -> Objects:
    """The objects under ``service``; without a management port servers are asked over the fabric."""
    site = view.site
    servers, vrf = site.management, _servers_vrf(port)
    objects: Objects = {"lldp": {"tx-interval": LLDP_INTERVAL_S}}
    if servers.dns:
        objects["dns"] = {vrf: {"search": {site.domain: {}}, "server": {server: {} for server in servers.dns}}}
    if servers.ntp:
        objects["ntp"] = {vrf: {"server": {server: {"iburst": ON} for server in servers.ntp}}}
    if servers.syslog:
        objects["syslog"] = {
            vrf: {"server": {server: {"port": SYSLOG_PORT, "protocol": "udp"} for server in servers.syslog}}
        }
    if site.snmp is not None:
        objects["snmp-server"] = _snmp(site.snmp, port)
    if view.relay is not None:
        objects |= _relay(view)
    return dict(sorted(objects.items()))


def _servers_vrf(port: ManagementPort | None) -> str:
    """VRF of the servers: beside the fabric, if the switch has a port there."""
    return MANAGEMENT_VRF if port is not None else DEFAULT_VRF


def _ssh(view: SwitchView) -> Objects:
    objects: Objects = {
        "authentication-retries": 3,
        "inactive-timeout": 15,
        "login-timeout": 60,
        "permit-root-login": "disabled",
        "state": "enabled",
    }
    return objects | ({} if view.management is None else {"vrf": {MANAGEMENT_VRF: {}}})


def _aaa(site: Site, vrf: str) -> Objects:
    objects: Objects = {}
    if site.aaa is not None:
        objects |= _central(site.aaa, vrf)
    if site.operators:
        objects["user"] = {operator.name: _user(operator) for operator in site.operators}
    return objects


def _user(operator: Operator) -> Objects:
    """An account: its keys, and its password as the deployment hashes it, or none."""
    keys = [key.split(" ")[:2] for key in operator.keys]
    hashed = LOCKED if operator.password is None else f"<secret {operator.password} as crypt>"
    return {
        "hashed-password": hashed,
        "role": ROLES.get(operator.role, "nvue-monitor"),
        "ssh": {
            "authorized-key": {f"key{number}": {"key": key, "type": kind} for number, (kind, key) in enumerate(keys, 1)}
        },
    }


def _central(aaa: CentralAaa, vrf: str) -> Objects:
    """Servers in the spec's order (the lowest priority is asked first), then local accounts when none answers."""
    secret = f"<secret {aaa.secret}>"
    order = {"10": aaa.protocol, "20": "local"}
    if aaa.protocol == "tacacs":
        ranked: Objects = {
            str(number): {"host": server, "port": TACACS_PORT, "secret": secret}
            for number, server in enumerate(aaa.servers, 1)
        }
    else:
        ranked = {
            server: {"port": RADIUS_PORT, "priority": number, "secret": secret}
            for number, server in enumerate(aaa.servers, 1)
        }
    objects = {"enable": ON, "server": ranked, "timeout": ANSWER_S, "vrf": vrf}
    return {"authentication-order": order, aaa.protocol: objects}


def _snmp(snmp: SnmpAccess, port: ManagementPort | None) -> Objects:
    secrets: Objects = {f"<secret {snmp.authentication}>": {"encrypt-aes": {f"<secret {snmp.privacy}>": {}}}}
    address = None if port is None or port.address is None else port.address.partition("/")[0]
    listening = {"all": {}} if address is None else {address: {"vrf": MANAGEMENT_VRF}}
    return {"enable": ON, "listening-address": listening, "username": {snmp.user: {"auth-sha": secrets}}}


def _relay(view: SwitchView) -> Objects:
    if view.version == 4:
        return {"dhcp-relay": {"default": _relay_v4(view)}}
    # A server behind this switch is asked over the hosts' own interface: dhcrelay sends by its upstream ports alone.
    is_behind = view.relay_source != view.loopback
    up = [systems()[SYSTEM].gateway] if is_behind else _ports_up(view)
    # "address" until Cumulus Linux 5.5: docs.nvidia.com, Cumulus Linux 5.10, DHCP Relays.
    upstream = {name: {"server-address": view.relay} for name in up}
    down: Objects = {name: {} for name in _relay_ports(view, is_up=False)}
    return {"dhcp-relay6": {"default": {"interface": {"downstream": down, "upstream": upstream}}}}


def _relay_v4(view: SwitchView) -> Objects:
    objects: Objects = {"interface": {name: {} for name in _relay_ports(view)}, "server": {view.relay: {}}}
    if parsed_release(view.release) >= RELAY_GROUPS_SINCE:
        upstream: Objects = {name: {} for name in _ports_up(view) or [systems()[SYSTEM].gateway]}
        below = _relay_ports(view, is_up=False)
        objects = {
            "downstream-interface": {name: {"server-group-name": RELAY_GROUP} for name in below},
            "server-group": {RELAY_GROUP: {"server": {view.relay: {}}, "upstream-interface": upstream}},
        }
    return objects | {"source-ip": "gateway"}


def _relay_ports(view: SwitchView, *, is_up: bool = True) -> list[str]:
    """The interfaces of incoming requests, with those of outgoing ones if ``is_up``."""
    hosts = [link.port.port for link in view.links if is_host_port(link)]
    below = [systems()[SYSTEM].gateway] if view.shares_subnet else hosts
    return [*below, *(_ports_up(view) if is_up else ())]


def _ports_up(view: SwitchView) -> list[str]:
    return sorted({link.port.port for link in view.links if link.port.side == "up"})
