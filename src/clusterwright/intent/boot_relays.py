"""DHCP relays: the switches that pass requests of machines without an address to the boot servers.

Most systems relay from the gateway of the hosts. If all hosts behind a switch are of one zone, its whole subnet is too,
with the gateway, and flows to the boot servers name it. If hosts of several zones share the subnet, or a system relays
from its loopback, no flow names the relay: then this module does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clusterwright.intent.filter_entries import peer_networks, subnet_network
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.boot import DHCP_PORTS, relay_sources, relay_targets
from clusterwright.plan.model import fabric_of
from clusterwright.spec.isolation import BOOT

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.isolation import Flow, Network, Zone


def dhcp_port(plan: Plan) -> int:
    """UDP port of the boot servers by the IP version of the boot fabric; 0 without a boot network."""
    network = plan.spec.boot_network
    return 0 if network is None else DHCP_PORTS[plan.address_version(network[0].name)]


@per_plan
def relay_addresses(plan: Plan) -> Mapping[str, int]:
    """``relay_targets``, cached: every switch and every filter reads it."""
    return relay_targets(plan)


@per_plan
def planned_relay_sources(plan: Plan) -> Mapping[str, int]:
    """``relay_sources``, cached: every switch and every filter reads it."""
    return relay_sources(plan)


@per_plan
def relays_on(plan: Plan, fabric_name: str) -> frozenset[str]:
    """The relaying switches of a fabric."""
    return frozenset(switch for switch in relay_addresses(plan) if plan.by_name[switch].fabric == fabric_name)


def _sources_on(plan: Plan, fabric_name: str) -> tuple[int, ...]:
    """The source addresses of a fabric's relays."""
    sources = planned_relay_sources(plan)
    return tuple(source for switch, source in sources.items() if plan.by_name[switch].fabric == fabric_name)


@per_plan
def unnamed_relays(plan: Plan, zone_name: str) -> tuple[Network, ...]:
    """Relays answered by a zone of kind boot, and named by no flow to it."""
    zone, boot = plan.spec.zone(zone_name), plan.spec.boot
    asking = tuple(asking_flows(plan, zone)) if zone is not None else ()
    if boot is None or not asking:
        return ()
    named: list[Network] = []
    for flow in asking:
        named.extend(peer_networks(plan, zone_name, flow.source, boot.fabric))
    version = plan.address_version(boot.fabric)
    unnamed = []
    for source in _sources_on(plan, boot.fabric):
        relay = subnet_network(source, 32 if version == 4 else 128, version)
        if not any(relay.overlaps(network) for network in named):
            unnamed.append(relay)
    return tuple(unnamed)


@per_plan
def relay_networks(plan: Plan, fabric_name: str) -> tuple[Network, ...]:
    """The pools of relays' addresses on a fabric beside the hosts': boot servers need a route to them."""
    boot, addressing = plan.spec.boot, fabric_of(plan, fabric_name).addressing
    if boot is None or boot.fabric != fabric_name or addressing is None:
        return ()
    pool = addressing.loopbacks
    if pool is None:
        return ()
    sources = _sources_on(plan, fabric_name)
    first, last = int(pool.network_address), int(pool.broadcast_address)
    return (pool,) if any(first <= source <= last for source in sources) else ()


def asking_flows(plan: Plan, zone: Zone) -> Iterator[Flow]:
    """The flows of DHCP requests to a zone of kind boot."""
    if zone.kind == BOOT:
        for flow in plan.spec.flows:
            if flow.target == zone.name and flow.opens("udp", dhcp_port(plan)):
                yield flow
