"""Declared openings to the internet, and the gateways of the nodes with flows to or from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clusterwright.plan.model import Cable, Plan
from clusterwright.plan.node_parts import owns_part
from clusterwright.spec.image import NETWORK
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import internet_fabrics, internet_flows


def declared_openings(spec: ClusterSpec) -> Iterator[str]:
    """Openings between zones and the internet by flow, in words."""
    for internet in internet_flows(spec):
        flow = internet.flow
        direction = "outwards" if internet.is_outward else "inwards"
        traffic = _traffic(flow.protocol, flow.ports)
        yield f"internet: open {direction} for {internet.zone.name} ({traffic}, flow {flow.name}), declared"


def _traffic(protocol: str, ports: Iterable[tuple[int, int]]) -> str:
    """Protocol and ports of a flow in words."""
    if protocol == "any":
        return "any protocol"
    port_ranges = ", ".join(_port_range(low, high) for low, high in ports)
    return f"{protocol} {port_ranges}".rstrip()


def _port_range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _gateway(plan: Plan, cable: Cable) -> int | None:
    """Address of the switch's port, or else the gateway of its subnet; None without one."""
    if cable.b.address is not None:
        return cable.b.address
    subnet = plan.host_subnet_of.get((cable.fabric, cable.b.device))
    return subnet.gateway if subnet is not None else None


def declared_gateways(plan: Plan) -> Mapping[str, Mapping[str, tuple[int, int]]]:
    """Gateway of each interface, by node with internet flows and a rendered network."""
    fabrics = {group.name: internet_fabrics(plan.spec, group.name) for group in plan.spec.node_groups}
    if not any(fabrics.values()):
        return {}
    gateways_by_node: dict[str, dict[str, tuple[int, int]]] = {}
    for cable in plan.cables:
        node = plan.by_name[cable.a.device]
        names = {fabric.name for fabric in fabrics.get(node.node_group, ())}
        is_host_port = cable.a.side == "host" and cable.a.address is not None
        if cable.fabric not in names or not is_host_port:
            continue
        gateway = _gateway(plan, cable) if owns_part(plan, node.image, NETWORK) else None
        if gateway is not None:
            interface = cable.bond.interface if cable.bond is not None else cable.a.port
            gateways_by_node.setdefault(node.name, {})[interface] = (plan.address_version(cable.fabric), gateway)
    return gateways_by_node
