"""The access lists of an EOS switch in pyavd's words: one entry for each pair of prefixes, port range and type."""

from __future__ import annotations

from itertools import product
from typing import Any

from clusterwright.intent.edge import host_permits, is_host_port, management_permits
from clusterwright.intent.filter_entries import Permit
from clusterwright.intent.switch import view_switch
from clusterwright.plan.model import Device, Plan


def add_filters(config: dict[str, Any], plan: Plan, device: Device) -> None:
    """Adds the lists, and puts them on ports to hosts and on the management interface."""
    view = view_switch(plan, device)
    lists: dict[str, tuple[Permit, ...]] = {}
    hosts = host_permits(plan, view)
    if hosts is not None:
        lists["HOSTS"] = tuple(hosts)
        filtered = {link.port.port for link in view.links if is_host_port(link)}
        for port in config["ethernet_interfaces"]:
            if port["name"] in filtered:
                port |= {"access_group_in": "HOSTS", "ipv6_access_group_in": "HOSTS"}
    if view.management is not None:
        permits = management_permits(plan, view.management.port.fabric)
        assert permits is not None
        lists["MANAGEMENT"] = permits
        for port in config["management_interfaces"]:
            port["eos_cli"] = "ip access-group MANAGEMENT in\nipv6 access-group MANAGEMENT in"
        _add_sources(config, plan, permits)
    for version, key, everything in ((4, "ip_access_lists", "ip"), (6, "ipv6_access_lists", "ipv6")):
        config[key] = [
            {"name": name, "counters_per_entry": True, "entries": entries(permits, version, everything)}
            for name, permits in lists.items()
        ]


def _add_sources(config: dict[str, Any], plan: Plan, permits: tuple[Permit, ...]) -> None:
    """Who reaches each service: the sources of flows to its port, in lists of sources alone."""
    assert plan.spec.site.telemetry is not None
    services = (
        ("SSH-SOURCES", "tcp", 22),
        ("EAPI-SOURCES", "tcp", 443),
        ("SNMP-SOURCES", "udp", 161),
        ("GNMI-SOURCES", "tcp", plan.spec.site.telemetry.port),
    )
    for version, key in ((4, "standard_access_lists"), (6, "ipv6_standard_access_lists")):
        config[key] = []
        for name, protocol, port in services:
            found = [
                f"permit {f'host {net.network_address}' if net.prefixlen == net.max_prefixlen else net}"
                for permit in permits
                if (permit.version, permit.protocol) == (version, protocol) and not permit.established
                for net in permit.sources
                if any(low <= port <= high for low, high in permit.target_ports)
            ]
            rows = enumerate((*dict.fromkeys(found), "deny any"), 1)
            numbered = [{"sequence": 10 * number, "action": action} for number, action in rows]
            if (name, version) != ("GNMI-SOURCES", 6):
                config[key].append({"name": name, "counters_per_entry": True, "sequence_numbers": numbered})
    config["management_ssh"]["vrfs"][0] |= {
        "ip_access_group_in": "SSH-SOURCES",
        "ipv6_access_group_in": "SSH-SOURCES",
    }
    api = {"access_group": "EAPI-SOURCES", "ipv6_access_group": "EAPI-SOURCES"}
    config["management_api_http"]["enable_vrfs"][0] |= api
    for version in (4, 6):
        config["snmp_server"][f"ipv{version}_acls"] = [{"name": "SNMP-SOURCES", "vrf": "MGMT"}]
    config["management_api_gnmi"]["transport"]["grpc"][0]["ip_access_group"] = "GNMI-SOURCES"


def entries(permits: tuple[Permit, ...], version: int, everything: str) -> list[dict[str, Any]]:
    """The entries of a list of one IP version, with what denies the rest."""
    rows: list[dict[str, Any]] = []
    for permit in permits:
        if permit.version == version:
            rows.append({"remark": permit.name})
            rows += _rows(permit, everything)
    rows.append({"action": "deny", "protocol": everything, "source": "any", "destination": "any"})
    return [row | {"sequence": 10 * number} for number, row in enumerate(rows, 1)]


def _rows(permit: Permit, everything: str) -> list[dict[str, Any]]:
    protocol = {"any": everything, "icmp": "icmpv6" if permit.version == 6 else "icmp"}.get(
        permit.protocol, permit.protocol
    )
    found = []
    for source, target, low, high, kind in product(
        permit.sources or (None,),
        permit.targets or (None,),
        permit.source_ports or (None,),
        permit.target_ports or (None,),
        permit.types or (None,),
    ):
        row: dict[str, Any] = {"action": "permit", "protocol": protocol}
        for side, network in (("source", source), ("destination", target)):
            is_host = network is not None and network.prefixlen == network.max_prefixlen
            row[side] = "any" if network is None else str(network.network_address if is_host else network)
        for side, ports in (("source", low), ("destination", high)):
            if ports is not None:
                single = ports[0] == ports[1]
                row[f"{side}_ports_match"] = "eq" if single else "range"
                row[f"{side}_ports"] = [str(ports[0])] if single else [str(ports[0]), str(ports[1])]
        if permit.established:
            row["tcp_flags"] = ["established"]
        if kind is not None:
            row["icmp_type"] = str(kind)
        found.append(row)
    return found
