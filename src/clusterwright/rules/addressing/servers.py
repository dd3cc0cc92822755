"""CW320, CW346, CW360 and CW361: servers used by switches, and the source address of the requests."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.intent.needs.need import Need, Party, meets, server_at
from clusterwright.intent.needs.switches import AAA_PORTS, SWITCH_PORTS
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.isolation import Border, Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path
from clusterwright.spec.zone_reach import covers, members_of

_WHY = "filters drop the request or the answer"
_FIX = "Add a flow from a zone with that address, or a management network with a zone for its ports."


@rule("CW320", Severity.ERROR)
def unreachable_servers(subject: Subject) -> Iterator[Problem]:
    """Servers of another IP version than the management network."""
    spec = subject.spec
    network = _management_network(spec)
    if network is None or network.addressing is None:
        return
    version = network.addressing.hosts.version
    for path, key, server in _servers_of_switches(spec):
        if _ip_version(server) != version:
            yield Problem(
                path,
                f"{network.name} is IPv{version}: switches cannot reach {server} over it.",
                f"Give an IPv{version} address in `{key}`.",
            )


@rule("CW346", Severity.WARNING)
def servers_without_a_source(subject: Subject) -> Iterator[Problem]:
    """Servers of another IP version than a fabric, used by switches without a management network."""
    spec = subject.spec
    if _management_network(spec) is not None:
        return
    for path, _, server in _servers_of_switches(spec):
        version = _ip_version(server)
        lacking = [fabric.name for fabric in spec.fabrics if _has_other_version(fabric, version)]
        if lacking:
            message = f"Switches of {', '.join(lacking)} have no IPv{version} address for connections to {server}."
            yield Problem(path, message, "Add a management network, or name servers of the fabric's IP version.")


def _has_other_version(fabric: Fabric, version: int) -> bool:
    return fabric.addressing is not None and fabric.addressing.hosts.version != version


@rule("CW360", Severity.WARNING)
def servers_out_of_reach(subject: Subject) -> Iterator[Problem]:
    """Servers blocked by filters, for switches reaching them over their fabric."""
    spec = subject.spec
    network = _management_network(spec)
    for path, key, server in _servers_of_switches(spec):
        whom = server_at(spec, server)
        stopped: list[str] = []
        for skeleton in subject.skeleton.fabrics:
            asks_over_it = skeleton.fabric.is_management or network is None
            if asks_over_it and _leads_to(spec, skeleton, server, whom):
                stopped += _stopped(subject, skeleton, whom, key)
        if stopped:
            message = f"No flow allows {' and '.join(stopped)} to query {server}: {_WHY}."
            yield Problem(path, message, _FIX)


@rule("CW361", Severity.WARNING)
def switches_without_a_way(subject: Subject) -> Iterator[Problem]:
    """Switches without a route to a server, by the position of the borders."""
    spec = subject.spec
    network = _management_network(spec)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for _, _, server in _servers_of_switches(spec):
        whom = server_at(spec, server)
        for skeleton, wiring in subject.wirings:
            asks_over_it = skeleton.fabric.is_management or network is None
            borders = tuple(_borders_to(spec, skeleton, server, whom)) if asks_over_it else ()
            key = skeleton.fabric.name, tuple(border.device for border in borders)
            if not borders or key in seen:
                continue
            seen.add(key)
            tops = wiring.above_all(border.device for border in borders)
            lost = [seat.name for seat in skeleton.seats if not wiring.tops[seat.name] & tops]
            if lost:
                border_names = " and ".join(sorted({border.device for border in borders}))
                message = (
                    f"{and_more(lost, 3)} cannot reach {server}: routes from {border_names} go down and not up again."
                )
                yield Problem((*borders[0].path, "device"), message, "Add a border at each switch of the top tier.")


def _leads_to(spec: ClusterSpec, skeleton: FabricSkeleton, server: str, whom: Party) -> bool:
    """True for a server on a node of a fabric, or behind a border of one of its switches."""
    addressing = skeleton.fabric.addressing
    if addressing is None or addressing.hosts.version != _ip_version(server):
        return False
    if ip_address(server) in addressing.hosts:
        return True
    return any(_borders_to(spec, skeleton, server, whom))


def _borders_to(spec: ClusterSpec, skeleton: FabricSkeleton, server: str, whom: Party) -> Iterator[Border]:
    """The borders of a fabric's switches with a server behind them."""
    switches = {seat.name for seat in skeleton.seats}
    for border in spec.borders:
        is_behind = set(whom.zones or ()).intersection(border.zones) and border.address.version == _ip_version(server)
        if border.device in switches and is_behind:
            yield border


def _stopped(subject: Subject, skeleton: FabricSkeleton, whom: Party, key: str) -> Iterator[str]:
    """Switches of a fabric with requests not permitted by a flow, by role and source interface."""
    spec, fabric = subject.spec, skeleton.fabric
    is_shared = fabric.addressing is not None and fabric.addressing.host_links == "shared"
    with_hosts = subject.filter_bound.tenants[fabric.name]
    kinds: dict[tuple[str, bool], None] = {}
    for number, seat in enumerate(skeleton.seats):
        tier = fabric.tiers[seat.tier]
        has_gateway = is_shared and number in with_hosts and not _asks_as_relay(spec, fabric, tier)
        kinds[tier.role, has_gateway] = None
    for role, has_gateway in kinds:
        zones = tuple(zone.name for zone in spec.zones if _has_source(spec, zone, fabric, has_gateway=has_gateway))
        need = _need(spec, Party(role, zones), whom, key)
        if not any(meets(spec, need, flow) for flow in spec.flows):
            yield f"{role} of {fabric.name} (from its {'gateway' if has_gateway else 'loopback'})"


def _asks_as_relay(spec: ClusterSpec, fabric: Fabric, tier: Tier) -> bool:
    """True if switches send requests from the loopback of their DHCP relay (``plan.asking``)."""
    system = system_of(tier.model)
    if spec.boot is None or spec.boot.fabric != fabric.name or fabric.addressing is None or system is None:
        return False
    return system.relays_from_loopback(fabric.addressing.hosts.version)


def _has_source(spec: ClusterSpec, zone: Zone, fabric: Fabric, *, has_gateway: bool) -> bool:
    """True if a zone may hold a switch's source address: its hosts' gateway, or its loopback."""
    if not covers(spec, zone, fabric):
        return False
    return has_gateway or (fabric.is_management and not members_of(spec, zone))


def _need(spec: ClusterSpec, who: Party, whom: Party, key: str) -> Need:
    kind = key.rpartition(".")[2]
    is_aaa = kind == "servers" and spec.site.aaa is not None
    protocol, port = AAA_PORTS[spec.site.aaa.protocol] if is_aaa and spec.site.aaa is not None else SWITCH_PORTS[kind]
    return Need(
        topic="switches",
        who=who,
        whom=whom,
        protocol=protocol,
        low=port,
        high=port,
        why="switches query it",
        unit="switches",
        path=(),
    )


def _management_network(spec: ClusterSpec) -> Fabric | None:
    return next((fabric for fabric in spec.fabrics if fabric.is_management), None)


def _servers_of_switches(spec: ClusterSpec) -> Iterator[tuple[Path, str, str]]:
    """Each server used by switches, with its place and the key to write it at."""
    for key in ("dns", "ntp", "syslog"):
        switches_own: Path = ("site", "management", key)
        place = switches_own if switches_own in spec.document.values else ("site", key)
        for index, server in enumerate(getattr(spec.site.management, key)):
            yield (*place, index), f"site.management.{key}", server
    if spec.site.aaa is not None:
        for index, server in enumerate(spec.site.aaa.servers):
            yield (*spec.site.aaa.path, "servers", index), "site.aaa.servers", server


def _ip_version(server: str) -> int:
    return 6 if ":" in server else 4
