"""Values of the EOS template, ready to print."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.intent.edge import management_reach
from clusterwright.intent.routing_policy import FROM_BELOW_COMMUNITY
from clusterwright.intent.switch import SwitchView, view_switch
from clusterwright.intent.switch_links import management_port
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.isolation import ROCE_PORT
from clusterwright.switches.eos.writer.access import EosAccess, eos_access
from clusterwright.switches.eos.writer.authentication import EosSharedSecret, shared_secrets
from clusterwright.switches.eos.writer.bgp import EosBgp, eos_bgp
from clusterwright.switches.eos.writer.borders import EosBorder, eos_borders
from clusterwright.switches.eos.writer.filters import WORDS, AccessList, EosFilters, eos_filters
from clusterwright.switches.eos.writer.macsec import EosMacsec, eos_macsec
from clusterwright.switches.eos.writer.ports import EosPort, eos_ports
from clusterwright.switches.eos.writer.qos import EosQos, eos_qos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.site import Services

MANAGEMENT_VRF = "MGMT"
# The destination queue pair lies 5 bytes into the base transport header, which is where UDP's payload starts.
ROCE_QUEUE_PAIR_BYTES = "5-7"


@dataclass(frozen=True, slots=True)
class EosManagement:
    """The out-of-band interface; ``ip`` is the command word ip or ipv6, ``routes`` its destinations."""

    port: str
    description: str
    ip: str
    address: str | None
    gateway: str | None
    routes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EosGateway:
    """The routed interface ``port`` of the shared host subnet; its ports are in ``vlan``.

    ``boot`` are the lines for booting hosts' addresses and, over IPv6, their router.
    """

    port: str
    vlan: int
    address: str
    mtu: int
    boot: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EosSwitch:
    """A whole switch. ``ip`` is the command word of the fabric's IP version, ``vrf`` the words before a server.

    ``ports`` are all ports; ``source_port`` is the source interface of requests to servers, without a management port
    in a VRF of its own.

    ``hash_seed`` are the chip's family and the seed of its hash over equal paths, "" for the default seed.
    """

    name: str
    title: str
    domain: str
    services: Services
    access: EosAccess
    filters: EosFilters
    access_lists: tuple[AccessList, ...]
    ip: str
    family: str
    vrf: str
    management: EosManagement | None
    gateway: EosGateway | None
    loopback: str | None
    loopback_port: str
    source_port: str
    ports: list[EosPort]
    discards: tuple[str, ...]
    pools: tuple[str, ...]
    qos: EosQos | None
    hash_queue_pairs: bool
    hash_seed: str
    bgp: EosBgp | None
    borders: tuple[EosBorder, ...]
    shared_secrets: tuple[EosSharedSecret, ...]
    macsec: tuple[EosMacsec, ...]
    mark: str = FROM_BELOW_COMMUNITY
    hash_port: int = ROCE_PORT
    hash_bytes: str = ROCE_QUEUE_PAIR_BYTES


def eos_switch(plan: Plan, device: Device) -> EosSwitch:
    """All values of one switch's startup configuration."""
    view = view_switch(plan, device)
    qos = eos_qos(view)
    qos_profile = None if qos is None else qos.profile
    filters = eos_filters(plan, view)
    borders = eos_borders(plan, view)
    authentications = [session.authentication for session in view.sessions]
    authentications += [border.authentication for border in borders]
    return EosSwitch(
        name=device.name,
        title=f"{device.name} ({view.model.part}, EOS-{view.release})",
        domain=plan.spec.site.domain,
        services=view.site.management,
        access=eos_access(view.site),
        filters=filters,
        access_lists=(*filters.lists, *chain.from_iterable(border.lists for border in borders)),
        ip=WORDS[view.version],
        family=f"ipv{view.version}",
        vrf="" if view.management is None else f"vrf {MANAGEMENT_VRF} ",
        management=_management(plan, view.management),
        gateway=_gateway(view),
        loopback=None if view.loopback is None else view.origins[0].text,
        loopback_port=systems()["eos"].loopback,
        source_port=_source_port(view),
        ports=eos_ports(view, qos_profile, filters.hosts, borders),
        discards=tuple(origin.text for origin in view.origins if not origin.is_connected),
        pools=tuple(f"{network} eq {length}" for network, length in view.pools),
        qos=qos,
        hash_queue_pairs=view.hashing.queue_pairs,
        hash_seed=_hash_seed(view),
        bgp=eos_bgp(view, borders),
        borders=borders,
        shared_secrets=shared_secrets(authentications),
        macsec=eos_macsec(plan, view),
    )


def _source_port(view: SwitchView) -> str:
    """The source interface of requests to servers without a management port."""
    system = systems()["eos"]
    if view.asks_from == "gateway":
        return system.gateway
    if view.asks_from == "loopback":
        return system.loopback
    return ""


def _hash_seed(view: SwitchView) -> str:
    """The chip's family and the seed of its hash; "" for the default seed."""
    function = view.hashing.function
    if function is None or not function.written:
        return ""
    return f"{function.written} {function.seed}"


def _management(plan: Plan, link: Link | None) -> EosManagement | None:
    if link is None:
        return None
    port = management_port(plan, link)
    return EosManagement(
        port=port.port,
        description=port.description,
        ip=WORDS[port.version],
        address=port.address,
        gateway=port.gateway,
        routes=tuple(str(network) for network in management_reach(plan, link.port.fabric)),
    )


def _gateway(view: SwitchView) -> EosGateway | None:
    subnet = view.host_subnet
    if subnet is None or subnet.gateway is None:
        return None
    port = systems()["eos"].gateway
    gateway_address = format_address(subnet.gateway, view.version)
    return EosGateway(
        port=port,
        vlan=HOST_VLAN,
        address=f"{gateway_address}/{subnet.prefix_length}",
        mtu=view.fabric.mtu,
        boot=tuple(_boot_lines(view, port, gateway_address)),
    )


def _boot_lines(view: SwitchView, port: str, address: str) -> Iterator[str]:
    """The relay, with the gateway's address as its source, as in flows. EOS advertises itself by default."""
    if view.relay is None:
        return
    if view.version == 4:
        yield f"ip helper-address {view.relay} source-interface {port}"
    else:
        yield f"ipv6 dhcp relay destination {view.relay} source-address {address}"
        yield "ipv6 nd managed-config-flag"
