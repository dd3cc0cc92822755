"""The intent behind an EOS switch as pyavd's structured configuration, taken from the plan, not from our renderer."""

from __future__ import annotations

from typing import Any

from tests.switches.eos_access_intent import GATEWAY, add_central_access
from tests.switches.eos_border_intent import add_borders
from tests.switches.eos_filter_intent import add_filters
from tests.switches.eos_route_maps import route_map, sequence

from clusterwright.plan.model import Cable, Device, Interface, Plan, fabric_of, format_address
from clusterwright.spec.isolation import Border

HOSTS_VLAN = 100


def structured_config(plan: Plan, device: Device) -> dict[str, Any]:
    """What a network engineer would hand to pyavd for this switch."""
    fabric = fabric_of(plan, device.fabric)
    version = plan.address_version(device.fabric)
    ends = [(cable, *_own_first(cable.a, cable.b, device)) for cable in plan.cables_of[device.name]]
    management = next(((own, peer) for _, own, peer in ends if own.side == "management"), None)
    links = [(cable, own, peer) for cable, own, peer in ends if own.side != "management"]
    config: dict[str, Any] = {
        "hostname": device.name,
        "dns_domain": plan.spec.site.domain,
        "service_routing_protocols_model": "multi-agent",
        "ip_routing": True,
        "management_api_http": {"enable_https": True, "enable_http": False},
        "ethernet_interfaces": [
            _ethernet(cable, _is_up(plan, cable), own, peer, fabric, version) for cable, own, peer in links
        ],
    }
    used = {own.port for _, own, _ in links}
    model = plan.spec.catalogue[device.model]
    for block in model.blocks:
        for cage in block.cages:
            speeds = {own.speed_gbps for _, own, _ in links if own.port.startswith(f"{cage}/")}
            mode = next((mode for mode in block.modes if mode.speed_gbps in speeds), block.modes[0])
            for name in [cage + suffix for suffix in mode.subports]:
                if name not in used:
                    config["ethernet_interfaces"].append({"name": name, "description": "unused", "shutdown": True})
                elif len(mode.subports) > 1:
                    entry = next(each for each in config["ethernet_interfaces"] if each["name"] == name)
                    entry["speed"] = f"{mode.speed_gbps}g-{8 // len(mode.subports)}"
    if version == 6:
        config["ipv6_unicast_routing"] = True
    _services(config, plan, management)
    _access(config, plan, management)
    add_filters(config, plan, device)
    cages = [(cage, mode) for block in model.blocks for cage in block.cages for mode in block.modes]
    names = dict.fromkeys(cage + suffix for cage, mode in cages for suffix in mode.subports)
    _join(config, [(cable, own) for cable, own, _ in links], {name: number for number, name in enumerate(names, 1)})
    _classes(config, fabric, model.asic)
    _routing(config, plan, device, version, links)
    add_borders(config, plan, device)
    if fabric.technology == "roce":
        udp = {"dst_port": 4791, "payload_bytes": "5-7"}
        config["load_balance"] = {"policies": {"sand_profiles": [{"name": "ROCE", "fields": {"udp": udp}}]}}
        config["port_channel"] = {"load_balance_sand_profile": "ROCE"}
        config["platform"] = {"sand": {"lag": {"hardware_only": False}}}  # without it pyavd forgets the profile's use
    return config


def _is_up(plan: Plan, cable: Cable) -> bool:
    """A drained switch carries no traffic, so no cable of it counts, but its ports stay up."""
    return cable.in_service or any(plan.by_name[end.device].state == "drained" for end in (cable.a, cable.b))


def _own_first(a: Interface, b: Interface, device: Device) -> tuple[Interface, Interface]:
    return (a, b) if a.device == device.name else (b, a)


def _ethernet(
    cable: Cable, in_service: bool, own: Interface, peer: Interface, fabric: Any, version: int
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": own.port,
        "description": f"to {peer.device} {peer.port}" + ("" if in_service else " (out of service)"),
        "shutdown": not in_service,
    }
    speed = {400: "400g-8", 200: "200g-4", 100: "100g-4", 25: "25g", 10: "10g"}.get(own.speed_gbps)
    if speed is not None:
        entry["speed"] = speed
    if own.speed_gbps >= 50:
        entry["error_correction_encoding"] = {"reed_solomon": True}
    elif own.speed_gbps == 25:
        # clause 91 of IEEE 802.3 beyond what clause 74 is good for: copper of 3 m, and fibres
        is_short = cable.medium == "dac" and (cable.length_m or 0) <= 3
        entry["error_correction_encoding"] = {"fire_code" if is_short else "reed_solomon": True}
    if fabric.classes:
        entry["service_profile"] = fabric.name.upper()
    if own.address is None:
        access = {"enabled": True, "mode": "access", "access_vlan": HOSTS_VLAN}
        return entry | {"switchport": access, "spanning_tree_portfast": "edge"}
    entry |= {"switchport": {"enabled": False}, "mtu": fabric.mtu}
    address = f"{format_address(own.address, version)}/{own.prefix_length}"
    return entry | ({"ip_address": address} if version == 4 else {"ipv6_address": address, "ipv6_enable": True})


def _join(config: dict[str, Any], links: list[tuple[Cable, Interface]], numbers: dict[str, int]) -> None:
    """Port channels: what is said of the hosts' ports is said of them, and the link itself of each port."""
    ports = {entry["name"]: entry for entry in config["ethernet_interfaces"]}
    config["port_channel_interfaces"] = []
    groups: dict[tuple[str, str], list[tuple[Cable, Interface]]] = {}
    for cable, own in links:
        if cable.bond is not None:
            groups.setdefault((cable.a.device, cable.bond.interface), []).append((cable, own))
    for (device, interface), members in groups.items():
        number = numbers[members[0][1].port]
        for cable, own in members:
            entry = ports[own.port]
            shared = {key: entry.pop(key) for key in _OF_A_CHANNEL if key in entry}
            assert cable.bond is not None
            entry |= {
                "channel_group": {"id": number, "mode": "active"},
                "lacp_timer": {"mode": "fast" if cable.bond.rate == "fast" else "normal"},
            }
        config["port_channel_interfaces"].append(
            {
                "name": f"Port-Channel{number}",
                "description": f"to {device} {interface}",
                "shutdown": False,
                "lacp_fallback_mode": "static",
            }
            | shared
        )


_OF_A_CHANNEL = ("switchport", "spanning_tree_portfast", "access_group_in", "ipv6_access_group_in", "service_profile")


def _services(config: dict[str, Any], plan: Plan, management: tuple[Interface, Interface] | None) -> None:
    site = plan.spec.site.management
    vrf = "default" if management is None else "MGMT"
    servers = [{"ip_address": server} for server in site.dns]
    config["ip_name_server"] = {"vrfs": [{"name": vrf, "servers": servers}]}
    config["ntp"] = {
        "servers": [{"name": server, "preferred": index == 0} for index, server in enumerate(site.ntp)],
    }
    config["logging"] = {"vrfs": [{"name": vrf, "hosts": [{"name": host} for host in site.syslog]}]}
    if management is None:
        config["logging"]["source_interface"] = GATEWAY
        config["ip_domain_lookup"] = {"source_interfaces": [{"name": GATEWAY}]}
        config["ntp"]["local_interface"] = {"name": GATEWAY}
        return
    own, peer = management
    gateway = plan.host_subnet_of[own.fabric, peer.device].gateway
    assert own.address is not None
    assert gateway is not None
    config["ntp"] |= {"vrf": "MGMT", "local_interface": {"name": own.port, "vrf": "MGMT"}}
    config["vrfs"] = [{"name": "MGMT", "ip_routing": False}]
    config["management_api_http"]["enable_vrfs"] = [{"name": "MGMT"}]
    config["management_interfaces"] = [
        {
            "name": own.port,
            "description": f"to {peer.device} {peer.port}",
            "shutdown": False,
            "vrf": "MGMT",
            "ip_address": f"{format_address(own.address, 4)}/{own.prefix_length}",
        }
    ]
    config["static_routes"] = [
        {"vrf": "MGMT", "prefix": prefix, "next_hop": format_address(gateway, 4)}
        for prefix in _management_reach(plan, own.fabric)
    ]


def _management_reach(plan: Plan, fabric: str) -> list[str]:
    """The management network's hosts, and the zones on neither of its ends that a flow joins it with."""
    addressing = fabric_of(plan, fabric).addressing
    assert addressing is not None
    inside = {zone.name for zone in plan.spec.zones if fabric in zone.fabrics}
    met = {(flow.source, flow.target) for flow in plan.spec.flows}
    outside = [
        str(prefix)
        for zone in plan.spec.zones
        if any((zone.name, each) in met or (each, zone.name) in met for each in inside)
        for prefix in zone.prefixes
        if prefix.version == 4
    ]
    return [str(addressing.hosts), *outside]


def _hash_of(secret: str) -> str:
    return f"<secret {secret} as sha512-crypt>"


def _access(config: dict[str, Any], plan: Plan, management: tuple[Interface, Interface] | None) -> None:
    site = plan.spec.site
    config["aaa_root"] = {"disabled": True}
    config["local_users"] = [
        {"name": who.name, "privilege": 15, "role": "network-admin"}
        | ({"no_password": True} if who.password is None else {"sha512_password": _hash_of(who.password)})
        | dict(zip(("ssh_key", "secondary_ssh_key"), who.keys, strict=False))
        for who in site.operators
    ]
    config["management_ssh"] = {"authentication": {"protocols": ["public-key", "keyboard-interactive"]}}
    add_central_access(config, site, management)
    assert site.snmp is not None
    config["snmp_server"] = {
        "groups": [{"name": "MONITOR", "version": "v3", "authentication": "priv"}],
        "users": [
            {
                "name": site.snmp.user,
                "group": "MONITOR",
                "version": "v3",
                "auth": "sha",
                "auth_passphrase": f"<secret {site.snmp.authentication}>",
                "priv": "aes",
                "priv_passphrase": f"<secret {site.snmp.privacy}>",
            }
        ],
    }
    if management is None:
        return
    config["management_ssh"] |= {"enable": False, "vrfs": [{"name": "MGMT", "enable": True}]}
    config["snmp_server"] |= {
        "local_interfaces": [{"name": management[0].port, "vrf": "MGMT"}],
        "vrfs": [{"name": "MGMT", "enable": True}, {"name": "default", "enable": False}],
    }


def _classes(config: dict[str, Any], fabric: Any, asic: str | None) -> None:
    if not fabric.classes:
        return
    named = {dscp for entry in fabric.classes for dscp in entry.dscp}
    total = sum(entry.weight for entry in fabric.classes)
    dscps, classes, lossless = [], [], []
    queues: list[dict[str, Any]] = []
    for entry in sorted(fabric.classes, key=lambda entry: entry.queue):
        taken = entry.dscp or [dscp for dscp in range(64) if dscp not in named]
        dscps.append(f"{' '.join(str(dscp) for dscp in taken)} to traffic-class {entry.queue}")
        classes.append(f"{entry.queue} to tx-queue {entry.queue}")
        share = {"priority": "no priority", "bandwidth_percent": 100 * entry.weight // total if total else None}
        queues.append({"id": entry.queue} | ({"priority": "priority strict"} if entry.strict else share))
        if entry.priority is not None:
            queues[-1]["random_detect"] = {"ecn": {"count": True}}
        if entry.marking is not None:
            kbytes = {"units": "kbytes", "min": entry.marking.min_kbytes, "max": entry.marking.max_kbytes}
            queues[-1]["random_detect"]["ecn"]["threshold"] = kbytes | {"max_probability": entry.marking.percent}
        if entry.priority is not None:
            lossless.append({"priority": entry.priority, "no_drop": True})
    profile: dict[str, Any] = {"name": fabric.name.upper(), "trust": "dscp", "tx_queues": queues}
    if lossless:
        profile["priority_flow_control"] = {"enabled": True, "watchdog": {"enabled": True}, "priorities": lossless}
        watchdog = {"action": "drop", "timeout": "0.20", "polling_interval": "0.10", "recovery_time": "1.00"}
        config["priority_flow_control"] = {"watchdog": watchdog}
    if (asic or "").startswith("jericho") and any(entry.ecn != "none" for entry in fabric.classes):
        config["hardware_counters"] = {"features": [{"name": "ecn", "direction": "out"}]}
    config["qos_profiles"] = [profile]
    config["qos"] = {"map": {"dscp": dscps, "traffic_class": classes}}


def _routing(
    config: dict[str, Any], plan: Plan, device: Device, version: int, links: list[tuple[Any, Interface, Interface]]
) -> None:
    assert device.loopback is not None
    assert device.asn is not None
    length = 32 if version == 4 else 128
    ip = "ip" if version == 4 else "ipv6"
    loopback = f"{format_address(device.loopback, version)}/{length}"
    config["loopback_interfaces"] = [{"name": "Loopback0", "description": "router", f"{ip}_address": loopback}]
    own = [loopback]
    subnet = plan.host_subnet_of.get((device.fabric, device.name))
    if subnet is not None:
        own.append(f"{format_address(subnet.network, version)}/{subnet.prefix_length}")
        assert subnet.gateway is not None
        gateway = f"{format_address(subnet.gateway, version)}/{subnet.prefix_length}"
        mtu = fabric_of(plan, device.fabric).mtu
        config["vlans"] = [{"id": HOSTS_VLAN, "name": "hosts"}]
        config["vlan_interfaces"] = [
            {"name": "Vlan100", "description": "hosts", "shutdown": False, "mtu": mtu, f"{ip}_address": gateway}
            | ({"ipv6_enable": True} if version == 6 else {})
        ]
    speakers = [
        (cable, mine, peer)
        for cable, mine, peer in links
        if peer.side != "management" and plan.by_name[peer.device].asn
    ]
    if not speakers and all(border.device != device.name for border in plan.spec.borders):
        return
    addressing = fabric_of(plan, device.fabric).addressing
    assert addressing is not None
    pools = [f"{addressing.loopbacks} eq {length}", f"{addressing.hosts} eq {addressing.hosts_per_switch}"]
    pools += [f"{prefix} eq {prefix.prefixlen}" for prefix in _learnt(plan, device.fabric)]
    config[f"{'' if version == 4 else 'ipv6_'}prefix_lists"] = [
        {"name": "FABRIC", "sequence_numbers": sequence([f"permit {pool}" for pool in pools])},
        {"name": "OWN", "sequence_numbers": sequence([f"permit {prefix}" for prefix in own])},
    ]
    fabric_match = f"{ip} address prefix-list FABRIC"
    own_match = f"{ip} address prefix-list OWN"
    sides = {mine.side for _, mine, _ in speakers}
    maps = []
    if "down" in sides:
        maps += [
            route_map("FROM-DOWN", (fabric_match, "community 64512:1")),
            route_map("TO-DOWN", (own_match, None), (fabric_match, None)),
        ]
    if "up" in sides:
        below_mark = {"action": "permit", "communities": ["64512:1"]}
        config["ip_community_lists"] = [{"name": "FROM-BELOW", "entries": [below_mark]}]
        maps += [
            route_map("FROM-UP", (fabric_match, "community none")),
            route_map("TO-UP", (own_match, None), ("community FROM-BELOW", None)),
        ]
    if device.state == "drained":
        denied = [{"sequence": 10, "type": "deny", "description": "drained"}]
        maps = [{**entry, "sequence_numbers": denied} if entry["name"].startswith("TO-") else entry for entry in maps]
    config["route_maps"] = maps
    groups = {plan.by_name[peer.device].role.upper(): mine.side.upper() for _, mine, peer in speakers}
    widths = [sum(1 for cable, mine, _ in speakers if mine.side == "up" and _is_up(plan, cable))]
    below = [plan.by_name[peer.device].group for cable, mine, peer in speakers if mine.side == "down"]
    widths += [below.count(group) for group in set(below)]
    paths = max(1, *widths)
    router_id = f"10.{device.loopback >> 16 & 255}.{device.loopback >> 8 & 255}.{device.loopback & 255}"
    config["router_bgp"] = {
        "as": str(device.asn),
        "router_id": router_id,
        "bgp": {"default": {"ipv4_unicast": False}},
        "updates": {"wait_install": True},
        "graceful_restart": {"enabled": True, "restart_time": 120},
        "maximum_paths": {"paths": paths, "ecmp": paths},
        "peer_groups": [_peer_group(plan, device, name, side, speakers) for name, side in groups.items()],
        "neighbors": [
            {
                "ip_address": format_address(peer.address or 0, version),
                "peer_group": plan.by_name[peer.device].role.upper(),
                "remote_as": str(plan.by_name[peer.device].asn),
                "description": f"{peer.device} {peer.port}",
            }
            for cable, _, peer in speakers
            if _is_up(plan, cable)
        ],
        f"address_family_ipv{version}": {
            "peer_groups": [{"name": name, "activate": True} for name in groups],
            "networks": [{"prefix": prefix} for prefix in own],
        },
    }


def _peer_group(
    plan: Plan, device: Device, name: str, side: str, speakers: list[tuple[Any, Interface, Interface]]
) -> dict[str, Any]:
    group: dict[str, Any] = {"name": name, "route_map_in": f"FROM-{side}", "route_map_out": f"TO-{side}"}
    group["timers"] = "10 30"
    peers = {peer.device for _, _, peer in speakers if plan.by_name[peer.device].role.upper() == name}
    if all(plan.spec.catalogue[plan.by_name[peer].model].network_os in {"eos", "sonic"} for peer in peers):
        group |= {"bfd": True, "bfd_timers": {"interval": 300, "min_rx": 300, "multiplier": 3}}
    tier = next(cable.tier for cable, _, peer in speakers if plan.by_name[peer.device].role.upper() == name)
    uplinks = fabric_of(plan, device.fabric).tiers[tier - 1].up
    if uplinks is not None and uplinks.authentication is not None:
        group["password"] = f"<secret {uplinks.authentication.secret} as eos-bgp {name}>"
    everything = sum(_prefixes(plan, other) for other in plan.devices if other.fabric == device.fabric)
    most = everything if side == "UP" else max(_prefixes_down(plan, peer) for peer in peers)
    return group | {
        "maximum_routes": 2 * most + 1,
        "maximum_routes_warning_limit": str(most + most // 10 + 1),
    }


def _prefixes(plan: Plan, device: Device) -> int:
    if device.loopback is None:
        return 0
    own = sum(len(_behind(plan, border)) for border in plan.spec.borders if border.device == device.name)
    return own + (2 if any(subnet.device == device.name for subnet in plan.subnets) else 1)


def _learnt(plan: Plan, fabric: str) -> list[Any]:
    """What a fabric learns at its borders, each prefix once."""
    borders = [border for border in plan.spec.borders if plan.by_name[border.device].fabric == fabric]
    return list(dict.fromkeys(prefix for border in borders for prefix in _behind(plan, border)))


def _behind(plan: Plan, border: Border) -> list[Any]:
    zones = [zone for name in border.zones for zone in plan.spec.zones if zone.name == name]
    return [prefix for zone in zones for prefix in zone.prefixes if prefix.version == border.address.version]


def _prefixes_down(plan: Plan, name: str) -> int:
    """All that is announced from below through one switch, found layer by layer."""
    seen: set[str] = set()
    layer = {name}
    while layer:
        seen |= layer
        layer = {c.a.device for c in plan.cables if c.b.device in layer and c.a.side == "up"} - seen
    return sum(_prefixes(plan, plan.by_name[each]) for each in seen)
