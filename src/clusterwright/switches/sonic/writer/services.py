"""A SONiC switch's metadata, and its services: its management port, time, names, logs, LLDP, counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.plan.model import format_address
from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import ManagementPort
    from clusterwright.spec.site import Site

SYSTEM = "sonic"  # as the catalogue names it
RACK_SWITCH = "ToRRouter"
# With this deployment isc-dhcp-relay sends requests from the hosts' gateway, otherwise from an uplink
# (sonic-buildimage, docker-dhcp-relay/dhcpv4-relay.agents.j2: -si).
ASKS_FROM_GATEWAY = "8"
SYSLOG_PORT = 514
LLDP_HELLO_S = 30
# Polled by SONiC's counter daemon; the last counts marked packets by queue.
COUNTERS = (
    *("BUFFER_POOL_WATERMARK", "PFCWD", "PG_DROP", "PG_WATERMARK", "PORT", "PORT_BUFFER_DROP", "QUEUE"),
    *("QUEUE_WATERMARK", "RIF", "WRED_ECN_QUEUE"),
)


def service_tables(site: Site, view: SwitchView, port: ManagementPort | None) -> dict[str, Any]:
    """The tables; without a management port requests to servers cross the fabric."""
    servers = site.management
    syslog = {"port": str(SYSLOG_PORT), "protocol": "udp", "severity": "info"}
    if port is not None:
        syslog["vrf"] = "mgmt"
    features: list[str] = []
    for purpose in _purposes(site, view):
        features += systems()[SYSTEM].configured_for(purpose)
    tables: dict[str, Any] = {
        "DEVICE_METADATA": {"localhost": _metadata(view)},
        "NTP_SERVER": {server: {"association_type": "server", "iburst": "on"} for server in servers.ntp},
        "NTP": {"global": {"admin_state": "enabled", "server_role": "disabled", "dhcp": "disabled"}},
        "SYSLOG_SERVER": {server: dict(syslog) for server in servers.syslog},
        "DNS_NAMESERVER": {server: {} for server in servers.dns},
        "LLDP": {"GLOBAL": {"enabled": "true", "hello_time": str(LLDP_HELLO_S), "system_name": view.device.name}},
        "FEATURE": {name: {"state": "enabled", "auto_restart": "enabled"} for name in features},
        "FLEX_COUNTER_TABLE": {name: {"FLEX_COUNTER_STATUS": "enable"} for name in COUNTERS},
    }
    source = source_interface(view)
    if source is not None and port is None:
        name, address = source
        tables["NTP"]["global"]["src_intf"] = [name]
        for server in servers.syslog:
            if _have_same_version(server, address):
                tables["SYSLOG_SERVER"][server]["source"] = address
    if servers.dns:
        tables["DNS_OPTIONS"] = {"GLOBAL": {"search": [site.domain]}}
    if port is not None:
        tables["MGMT_PORT"] = {port.port: {"description": port.description, "admin_status": "up"}}
        tables["MGMT_VRF_CONFIG"] = {"vrf_global": {"mgmtVrfEnabled": "true"}}
        tables["NTP"]["global"] |= {"src_intf": [port.port], "vrf": "mgmt"}
        if port.address is not None:
            row: dict[str, str] = {}
            if port.gateway is not None:
                row["gwaddr"] = port.gateway
            tables["MGMT_INTERFACE"] = {f"{port.port}|{port.address}": row}
    return tables


def _have_same_version(address: str, other: str) -> bool:
    return (":" in address) == (":" in other)


def source_interface(view: SwitchView) -> tuple[str, str] | None:
    """The source interface of requests to servers without a management port, and its address."""
    system, subnet = systems()[SYSTEM], view.host_subnet
    if view.asks_from == "gateway" and subnet is not None and subnet.gateway is not None:
        return system.gateway, format_address(subnet.gateway, view.version)
    if view.asks_from == "loopback" and view.loopback is not None:
        return system.loopback, view.loopback
    return None


def _purposes(site: Site, view: SwitchView) -> Iterator[str]:
    """Purposes of the image's programs for this file, by the words of the system's list of services."""
    yield "forwarding"
    yield "sessions"
    yield "neighbours"
    if view.bonds:
        yield "bonds"
    if view.relay is not None:
        yield "relays"
    if view.relay is not None and view.version == 6:
        yield "router-advertisements"
    if site.snmp is not None:
        yield "snmp"
    if site.telemetry is not None:
        yield "gnmi"


def _metadata(view: SwitchView) -> dict[str, str]:
    """The switch's own row. SONiC derives the seed of its hash and its started programs from ``type``.

    FEATURE lists the needed programs.

    ``suppress-fib-pending`` is left out: the management framework's templates write nothing of it, so FRR announces a
    route before the chip has it in any case (sonic-buildimage, src/sonic-frr-mgmt-framework/templates).
    """
    hwsku = view.model.platform or ""
    function = view.hashing.function
    metadata = {
        "hostname": view.device.name,
        "hwsku": hwsku,
        "type": RACK_SWITCH if function is None else function.written,
        "docker_routing_config_mode": "unified",
        "frr_mgmt_framework_config": "true",
        "buffer_model": "traditional",
        "default_pfcwd_status": "disable",
        "synchronous_mode": "enable",
        "yang_config_validation": "enable",
    }
    platform = view.model.platform_ports
    if platform is not None and platform.machine is not None:
        metadata["platform"] = platform.machine
    if view.relay is not None and view.version == 4:
        metadata["deployment_id"] = ASKS_FROM_GATEWAY
    if view.device.asn is not None:
        metadata["bgp_asn"] = str(view.device.asn)
    return metadata
