"""The relays that boot servers answer: rack switches, which ask from their hosts' gateway for machines without address.

Where all hosts behind a switch are of one zone its whole subnet is, with the gateway, and flows to the boot servers
name it. Where hosts of several share it, flows name the hosts one by one: the gateway is then named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clusterwright.intent.filter_entries import peer_networks, subnet_network
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.boot import DHCP_PORTS, relay_targets
from clusterwright.spec.isolation import BOOT

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.isolation import Flow, Network, Zone


def dhcp_port(plan: Plan) -> int:
    """Where boot servers take requests, by the IP version of the boot fabric; 0 where nothing can boot."""
    network = plan.spec.boot_network
    return 0 if network is None else DHCP_PORTS[plan.address_version(network[0].name)]


@per_plan
def relay_addresses(plan: Plan) -> Mapping[str, int]:
    """``relay_targets``, found once: every switch and every filter asks."""
    return relay_targets(plan)


@per_plan
def unnamed_relays(plan: Plan, zone_name: str) -> tuple[Network, ...]:
    """Relays that a zone of kind boot answers, and that no flow to it names."""
    zone, boot = plan.spec.zone(zone_name), plan.spec.boot
    asking = tuple(asking_flows(plan, zone)) if zone is not None else ()
    if boot is None or not asking:
        return ()
    named = [net for flow in asking for net in peer_networks(plan, zone_name, flow.source, boot.fabric)]
    found = []
    for switch in relay_addresses(plan):
        subnet = plan.host_subnet_of[boot.fabric, switch]
        if subnet.gateway is not None:
            own = subnet_network(subnet.gateway, 32 if subnet.version == 4 else 128, subnet.version)
            if not any(own.overlaps(each) for each in named):
                found.append(own)
    return tuple(found)


def asking_flows(plan: Plan, zone: Zone) -> Iterator[Flow]:
    """The flows by which machines that boot ask a zone of kind boot for addresses."""
    for flow in plan.spec.flows if zone.kind == BOOT else ():
        if flow.target == zone.name and flow.opens("udp", dhcp_port(plan)):
            yield flow
