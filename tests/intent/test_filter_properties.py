"""Filters and borders of generated clusters, compared packet by packet with the flows of their specs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_address
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.generated import access
from tests.generated.mended import mended
from tests.generated.specs import Case, specs

from clusterwright.finding import Severity
from clusterwright.intent.borders import border_filter
from clusterwright.intent.edge import host_lists
from clusterwright.intent.filter_entries import ANY, ICMP, TCP, UDP, Permit
from clusterwright.intent.switch import view_switch
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.isolation import Border, Flow
from clusterwright.spec.load import load_spec
from clusterwright.spec.zone_reach import covers, members_of

EXAMPLES = 16
PACKETS = 120  # of a fabric
SEED = 40
# Permits that IP, booting and routing need without a flow.
OF_HOSTS = {"neighbour discovery", "icmp errors", "router solicitation", "dhcp", "dhcp relays"}
OF_BORDERS = {"neighbour discovery", "icmp errors", "bgp", "bgp replies"}
ROCE_PORT = 4791  # InfiniBand specification, annex A17
# Of echo, by IP version: RFC 792, RFC 4443. A flow of ICMP is a request and its reply.
REQUEST = {4: 8, 6: 128}
REPLY = {4: 0, 6: 129}
OTHER_ICMP = {4: 13, 6: 139}  # timestamp, node information query: no permit of IP itself has them
FEW = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@dataclass(frozen=True, slots=True)
class Host:
    """A node's address on a fabric, with its zones there and the list of its switch's port."""

    address: int
    zones: frozenset[str]
    permits: tuple[Permit, ...]


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet of TCP, UDP or ICMP; ICMP has a type and no ports."""

    version: int
    protocol: str
    source: int
    target: int
    source_port: int = 0
    target_port: int = 0
    is_established: bool = False
    icmp_type: int = -1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of this module."""
    return tmp_path_factory.mktemp("filters")


def plan_of(case: Case, folder: Path) -> Plan:
    """The plan of a drawn spec that lints without an error, with flows of RoCE and of ICMP between its zones."""
    case, findings = mended(with_more_flows(case), folder)
    assume(all(finding.severity is not Severity.ERROR for finding in findings))
    return build_plan(load_spec(case.write(folder)))


def with_more_flows(case: Case) -> Case:
    """The case with flows of RoCE and of ICMP between the zones of its nodes, and with those behind its borders."""
    parts = (case.cluster, case.base or {})
    groups = {group["name"] for part in parts for group in part.get("nodes", ())}
    zones = [zone for part in parts for zone in part.get("zones", ())]
    inside = [zone["name"] for zone in zones if groups.intersection(zone.get("nodes", ()))]
    beyond = dict.fromkeys(chain.from_iterable(border["zones"] for part in parts for border in part.get("borders", ())))
    pairs = []
    for index, name in enumerate(inside):
        pairs += [(name, inside[(index + 1) % len(inside)]), *((name, other) for other in beyond)]
    flows = list(case.cluster.get("flows", ()))
    for index, (source, target) in enumerate(pairs):
        flows.append(access.flow(f"drawn-{index}-rdma", source, target, UDP, ROCE_PORT))
        flows.append(access.flow(f"drawn-{index}-echo", source, target, ICMP))
    return case.changed(flows=flows)


@given(case=st.one_of(specs("tenants"), specs("storage of others"), specs("")))
@FEW
def test_a_host_sends_what_a_flow_or_the_reply_to_one_permits(case: Case, folder: Path) -> None:
    plan = plan_of(case, folder)
    chosen = random.Random(SEED)
    compared = 0
    for fabric in plan.spec.fabrics:
        hosts = hosts_of(plan, fabric)
        if len(hosts) < 2 or fabric.addressing is None:
            continue
        for _ in range(PACKETS):
            sender, receiver = chosen.sample(hosts, 2)
            packet = drawn_packet(plan, chosen, fabric, sender, receiver)
            is_wanted = any(permits(flow, fabric, sender, receiver, packet) for flow in plan.spec.flows)
            assert passes(sender.permits, packet) == is_wanted, (fabric.name, sender.zones, receiver.zones, packet)
            compared += 1
    assume(compared)


@given(case=st.one_of(specs("tenants"), specs("borders"), specs("")))
@FEW
def test_every_permit_belongs_to_a_flow(case: Case, folder: Path) -> None:
    plan = plan_of(case, folder)
    flows = {flow.name for flow in plan.spec.flows}
    known = flows | {f"{name} replies" for name in flows}
    for border in plan.spec.borders:
        rules = border_filter(plan, border)
        assert {permit.name for permit in (*rules.incoming, *rules.outgoing)} <= known | OF_BORDERS
    for fabric in plan.spec.fabrics:
        for host in hosts_of(plan, fabric):
            assert {permit.name for permit in host.permits} <= known | OF_HOSTS


@given(case=specs("borders"))
@FEW
def test_a_border_passes_flows_with_its_zones_and_announces_hosts_of_its_fabric(case: Case, folder: Path) -> None:
    plan = plan_of(case, folder)
    borders = [border for border in plan.spec.borders if border.device in plan.by_name]
    assume(borders)
    chosen = random.Random(SEED)
    for border in borders:
        rules = border_filter(plan, border)
        fabric = plan.spec.fabric(plan.by_name[border.device].fabric)
        assert fabric is not None
        hosts = hosts_of(plan, fabric)
        beyond = [prefix for prefix in outer_prefixes(plan, border) if prefix.version == border.address.version]
        assert set(rules.learnt) == set(beyond)
        for announced in rules.announced:
            assert holds_only_own_addresses(plan, fabric, announced.network)
        for _ in range(PACKETS):
            if not hosts or not beyond:
                break
            inner = chosen.choice(hosts)
            prefix = chosen.choice(beyond)
            outer = Host(
                address=int(prefix.network_address) + chosen.randrange(min(prefix.num_addresses, 1 << 16)),
                zones=frozenset(name for name in border.zones if prefix in prefixes_of(plan, name)),
                permits=rules.incoming,
            )
            inward = drawn_packet(plan, chosen, fabric, outer, inner)
            is_wanted = any(permits(flow, fabric, outer, inner, inward) for flow in plan.spec.flows if not flow.is_rdma)
            assert passes(rules.incoming, inward) == is_wanted, (border.name, inner.zones, inward)
            outward = drawn_packet(plan, chosen, fabric, inner, outer)
            is_wanted = any(
                permits(flow, fabric, inner, outer, outward) for flow in plan.spec.flows if not flow.is_rdma
            )
            assert passes(rules.outgoing, outward) == is_wanted, (border.name, inner.zones, outward)
            if is_wanted:
                announced_networks = [announced.network for announced in rules.announced]
                assert any(ip_address(inner.address) in network for network in announced_networks)


def hosts_of(plan: Plan, fabric: Fabric) -> list[Host]:
    """The nodes' addresses on a fabric whose switches have lists."""
    hosts: list[Host] = []
    on_fabric = [zone for zone in plan.spec.zones if covers(plan.spec, zone, fabric)]
    of_all_ports = {zone.name for zone in on_fabric if not members_of(plan.spec, zone)}
    switches = [device for device in plan.devices if device.kind == "switch" and device.fabric == fabric.name]
    for switch in switches if fabric.addressing is not None else ():
        for rules in host_lists(plan, view_switch(plan, switch)):
            permits_of_list = tuple(rules.permits)
            for cable in plan.cables_of[switch.name]:
                node = plan.by_name[cable.a.device]
                is_of_list = cable.b.device == switch.name and cable.b.port in rules.ports
                if is_of_list and node.kind == "node" and cable.a.address is not None:
                    zones = {zone.name for zone in on_fabric if zone.name in node.zones} | of_all_ports
                    hosts.append(Host(cable.a.address, frozenset(zones), permits_of_list))
    return hosts


def drawn_packet(plan: Plan, chosen: random.Random, fabric: Fabric, sender: Host, receiver: Host) -> Packet:
    """A packet between two hosts: TCP, UDP, RoCE or ICMP; ports are half of the times those of a flow."""
    assert fabric.addressing is not None
    version = fabric.addressing.hosts.version
    ends = Packet(version=version, protocol=UDP, source=sender.address, target=receiver.address)
    kind = chosen.choice((TCP, TCP, UDP, UDP, "roce", ICMP))
    if kind == ICMP:
        icmp_type = chosen.choice((REQUEST, REPLY, OTHER_ICMP))[version]
        return replace(ends, protocol=ICMP, icmp_type=icmp_type)
    ports = [drawn_port(plan, chosen), drawn_port(plan, chosen)]
    if kind == "roce":
        ports[chosen.randrange(2)] = ROCE_PORT
        return replace(ends, source_port=ports[0], target_port=ports[1])
    is_established = chosen.random() < 1 / 2
    return replace(ends, protocol=kind, source_port=ports[0], target_port=ports[1], is_established=is_established)


def drawn_port(plan: Plan, chosen: random.Random) -> int:
    of_flows: list[int] = []
    for flow in plan.spec.flows:
        for low, high in flow.ports:
            of_flows += (low, high)
    if of_flows and chosen.random() < 1 / 2:
        return chosen.choice(of_flows)
    return chosen.randrange(1, 1 << 16)


def permits(flow: Flow, fabric: Fabric, sender: Host, receiver: Host, packet: Packet) -> bool:
    """Whether a flow of the spec lets a packet pass, as one of its own or as a reply."""
    if flow.protocol not in {packet.protocol, ANY} or (flow.is_rdma and fabric.technology != "roce"):
        return False
    is_sent = flow.source in sender.zones and flow.target in receiver.zones
    is_answer = flow.target in sender.zones and flow.source in receiver.zones and not flow.is_rdma
    if flow.protocol == ANY:
        return is_sent or is_answer
    if flow.protocol == ICMP:
        is_request, is_reply = (packet.icmp_type == types[packet.version] for types in (REQUEST, REPLY))
        return (is_sent and is_request) or (is_answer and is_reply)
    if is_sent and is_within(packet.target_port, flow.ports):
        return True
    is_late = flow.protocol != TCP or packet.is_established
    return is_answer and is_late and is_within(packet.source_port, flow.ports)


def passes(entries: Iterable[Permit], packet: Packet) -> bool:
    """Whether some entry of a list matches a packet."""
    return any(matches(entry, packet) for entry in entries)


def matches(entry: Permit, packet: Packet) -> bool:
    if entry.version != packet.version or entry.protocol not in {packet.protocol, ANY}:
        return False
    is_between = is_in(packet.source, entry.sources) and is_in(packet.target, entry.targets)
    if packet.protocol == ICMP:
        return is_between and (not entry.types or packet.icmp_type in entry.types)
    has_ports = is_within(packet.source_port, entry.source_ports) and is_within(packet.target_port, entry.target_ports)
    return is_between and has_ports and (packet.is_established or not entry.established)


def is_within(port: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return not ranges or any(low <= port <= high for low, high in ranges)


def is_in(address: int, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    bounds = ((int(network.network_address), int(network.broadcast_address)) for network in networks)
    return not networks or any(low <= address <= high for low, high in bounds)


def outer_prefixes(plan: Plan, border: Border) -> Iterator[IPv4Network | IPv6Network]:
    for name in border.zones:
        yield from prefixes_of(plan, name)


def prefixes_of(plan: Plan, name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    zone = plan.spec.zone(name)
    return zone.prefixes if zone is not None else ()


def holds_only_own_addresses(plan: Plan, fabric: Fabric, network: IPv4Network | IPv6Network) -> bool:
    """Whether host subnets and loopbacks of a fabric fill a network without a gap."""
    subnets = [subnet for subnet in plan.subnets if subnet.fabric == fabric.name and subnet.kind == "host"]
    bits = network.max_prefixlen
    first, last = int(network.network_address), int(network.broadcast_address)
    size = sum(1 << (bits - subnet.prefix_length) for subnet in subnets if first <= subnet.network <= last)
    loopbacks = [device.loopback for device in plan.devices if device.fabric == fabric.name]
    single = sum(1 for loopback in loopbacks if loopback is not None and first <= loopback <= last)
    return size + single == network.num_addresses or any(
        subnet.network <= first and last < subnet.network + (1 << (bits - subnet.prefix_length)) for subnet in subnets
    )
