"""Borders of an EOS switch in pyavd's words: the port, its session with the key's profile, what passes."""

from __future__ import annotations

from typing import Any

from tests.switches.eos_filter_intent import entries

from clusterwright.intent.borders import border_filter
from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.spec.isolation import Border

SPEEDS = {400: "400g-8", 25: "25g"}


def add_borders(config: dict[str, Any], plan: Plan, device: Device) -> None:
    """Adds every border of the switch to what its fabric needs; does nothing without one."""
    for border in plan.spec.borders:
        if border.device == device.name:
            _add(config, plan, device, border)


def _add(config: dict[str, Any], plan: Plan, device: Device, border: Border) -> None:
    fabric = fabric_of(plan, device.fabric)
    assert fabric.addressing is not None
    version = border.address.version
    ip, lists = ("ip", "prefix_lists") if version == 4 else ("ipv6", "ipv6_prefix_lists")
    label = border.name.upper()
    passing = border_filter(plan, border)
    ports = [port for port in config["ethernet_interfaces"] if port["name"] != border.port]
    config["ethernet_interfaces"] = [*ports, _port(border, fabric.mtu, label)]
    for filters, everything, key in ((4, "ip", "ip_access_lists"), (6, "ipv6", "ipv6_access_lists")):
        config[key] += [
            {
                "name": f"BORDER-{way}-{label}",
                "counters_per_entry": True,
                "entries": entries(permits, filters, everything),
            }
            for way, permits in (("IN", passing.incoming), ("OUT", passing.outgoing))
        ]
    learnt = [f"permit {network} eq {network.prefixlen}" for network in passing.learnt]
    told = [f"permit {network} eq {length}" for network, length in passing.announced]
    config[lists] += [_numbered(f"BORDER-IN-{label}", learnt), _numbered(f"BORDER-OUT-{label}", told)]
    config["route_maps"] += [
        _route_map(f"FROM-BORDER-{label}", f"{ip} address prefix-list BORDER-IN-{label}", ["community 64512:1"]),
        _route_map(f"TO-BORDER-{label}", f"{ip} address prefix-list BORDER-OUT-{label}", []),
    ]
    _add_session(config, border, label, len(learnt))


def _port(border: Border, mtu: int, label: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": border.port,
        "description": f"border {border.name}",
        "shutdown": False,
        "switchport": {"enabled": False},
        "mtu": mtu,
    }
    if border.speed_gbps in SPEEDS:
        entry |= {"speed": SPEEDS[border.speed_gbps], "error_correction_encoding": {"reed_solomon": True}}
    if border.address.version == 4:
        entry["ip_address"] = str(border.address)
    else:
        entry |= {"ipv6_address": str(border.address), "ipv6_enable": True}
    for way in ("in", "out"):
        name = f"BORDER-{way.upper()}-{label}"
        entry |= {f"access_group_{way}": name, f"ipv6_access_group_{way}": name}
    return entry


def _add_session(config: dict[str, Any], border: Border, label: str, learnt: int) -> None:
    group: dict[str, Any] = {
        "name": f"BORDER-{label}",
        "route_map_in": f"FROM-BORDER-{label}",
        "route_map_out": f"TO-BORDER-{label}",
        "timers": "10 30",
        "maximum_routes": 2 * learnt + 1,
        "maximum_routes_warning_limit": str(learnt + 1),
    }
    if border.authentication is not None:
        secret = border.authentication.secret
        profile = f"BGP-{secret.upper()}-1"
        group["shared_secret"] = {"profile": profile, "hash_algorithm": "aes-128-cmac-96"}
        always = {"infinite": True}
        key: dict[str, Any] = {"name": "1", "secret": f"<secret {secret} as eos-type-7>"}
        key |= {"receive_lifetime": always, "transmit_lifetime": always}
        security = config.setdefault("management_security", {})
        security.setdefault("shared_secret_profiles", []).append({"profile": profile, "secrets": [key]})
    bgp = config["router_bgp"]
    bgp["peer_groups"].append(group)
    neighbour = {"ip_address": str(border.neighbour), "peer_group": group["name"], "remote_as": str(border.asn)}
    bgp["neighbors"].append(neighbour | {"description": f"border {border.name}"})
    family = bgp[f"address_family_ipv{border.address.version}"]
    family["peer_groups"].append({"name": group["name"], "activate": True})


def _numbered(name: str, actions: list[str]) -> dict[str, Any]:
    rows = [{"sequence": 10 * number, "action": action} for number, action in enumerate(actions, 1)]
    return {"name": name, "sequence_numbers": rows}


def _route_map(name: str, match: str, changes: list[str]) -> dict[str, Any]:
    step = {"sequence": 10, "type": "permit", "match": [match]} | ({"set": changes} if changes else {})
    return {"name": name, "sequence_numbers": [step]}
