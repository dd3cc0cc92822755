"""Access lists of an EOS switch: permits as numbered entries, and the ports and services of each list."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from clusterwright.intent.edge import host_lists, management_permits, service_sources
from clusterwright.intent.filter_entries import Permit
from clusterwright.intent.per_plan import per_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan
    from clusterwright.spec.isolation import Network

HOSTS = "HOSTS"
MANAGEMENT = "MANAGEMENT"
SSH, EAPI, SNMP, GNMI = "SSH-SOURCES", "EAPI-SOURCES", "SNMP-SOURCES", "GNMI-SOURCES"
WORDS = {4: "ip", 6: "ipv6"}
_STEP = 10
_DENY_REST = {4: "deny ip any any", 6: "deny ipv6 any any"}


@dataclass(frozen=True, slots=True)
class AccessList:
    """An access list: ``ip`` is the command word ip or ipv6, ``entries`` are numbers with their text.

    ``kind`` is "standard " for a list of sources alone.
    """

    ip: str
    name: str
    entries: tuple[tuple[int, str], ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class EosServices:
    """Lines that bind lists of sources to services of the management VRF.

    pyavd's schema knows no list of IPv6 sources for gNMI; the management port's own list has those.
    """

    ssh: tuple[str, ...] = ()
    eapi: tuple[str, ...] = ()
    snmp: tuple[str, ...] = ()
    gnmi: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EosFilters:
    """The lists of a switch; ``hosts`` are the lines of ports to hosts, ``management`` of the management port.

    ``services`` are those for logins, configuration and collectors.
    """

    lists: tuple[AccessList, ...]
    hosts: Mapping[str, tuple[str, ...]]
    management: tuple[str, ...]
    services: EosServices


def eos_filters(plan: Plan, view: SwitchView) -> EosFilters:
    """A switch's filters at its ports to hosts and at its management port."""
    lists: list[AccessList] = []
    host_ports: dict[str, tuple[str, ...]] = {}
    for host_list in host_lists(plan, view):
        name = HOSTS + host_list.suffix
        lists += both_versions(name, host_list.permits)
        host_ports |= dict.fromkeys(host_list.ports, applied(name, "in"))
    if view.management is None:
        return EosFilters(lists=tuple(lists), hosts=host_ports, management=(), services=EosServices())
    fabric = view.management.port.fabric
    management_lines: tuple[str, ...] = ()
    management_lists = _management_lists(plan, fabric)
    if management_lists is not None:
        lists += management_lists
        management_lines = applied(MANAGEMENT, "in")
    service_lists = _service_lists(plan, fabric)
    lists += service_lists
    return EosFilters(
        lists=tuple(lists),
        hosts=host_ports,
        management=management_lines,
        services=_services({service_list.name for service_list in service_lists}),
    )


def applied(name: str, direction: str) -> tuple[str, ...]:
    """The lines that bind the lists of a name to a port."""
    return tuple(f"{word} access-group {name} {direction}" for word in WORDS.values())


def both_versions(name: str, permits: Iterable[Permit]) -> tuple[AccessList, ...]:
    """A list for each IP version; one without a permit denies everything."""
    all_permits = tuple(permits)
    lists = []
    for version, word in WORDS.items():
        permits_of_version = [permit for permit in all_permits if permit.version == version]
        lists.append(AccessList(ip=word, name=name, entries=_numbered(permits_of_version, version)))
    return tuple(lists)


@per_plan
def _management_lists(plan: Plan, fabric: str) -> tuple[AccessList, ...] | None:
    """The lists of the management port; None without a zone of management ports."""
    permits = management_permits(plan, fabric)
    return None if permits is None else both_versions(MANAGEMENT, permits)


@per_plan
def _service_lists(plan: Plan, fabric: str) -> tuple[AccessList, ...]:
    """For each listening service, its sources in each IP version; none without a zone of management ports."""
    site = plan.spec.site
    listening = [(SSH, "tcp", 22), (EAPI, "tcp", 443)]
    if site.snmp is not None:
        listening.append((SNMP, "udp", 161))
    if site.telemetry is not None:
        listening.append((GNMI, "tcp", site.telemetry.port))
    lists: list[AccessList] = []
    for name, protocol, port in listening:
        sources = service_sources(plan, fabric, protocol, port)
        if sources is None:
            continue
        versions = (4,) if name == GNMI else (4, 6)
        for version in versions:
            sources_of_version = [source for source in sources if source.version == version]
            lists.append(_source_list(WORDS[version], name, sources_of_version))
    return tuple(lists)


def _source_list(word: str, name: str, sources: list[Network]) -> AccessList:
    lines = [*(f"permit {address_words(source)}" for source in sources), "deny any"]
    return AccessList(
        ip=word,
        name=name,
        entries=tuple((_STEP * number, line) for number, line in enumerate(lines, 1)),
        kind="standard ",
    )


def _services(names: set[str]) -> EosServices:
    """The lines that bind the lists ``names`` to their services."""
    if not names:
        return EosServices()
    snmp: list[str] = []
    if SNMP in names:
        snmp += [f"snmp-server ipv{version} access-list {SNMP} vrf MGMT" for version in WORDS]
    gnmi: list[str] = []
    if GNMI in names:
        gnmi.append(f"ip access-group {GNMI}")
    return EosServices(
        ssh=tuple(f"{word} access-group {SSH} vrf MGMT in" for word in WORDS.values()),
        eapi=tuple(f"{word} access-group {EAPI}" for word in WORDS.values()),
        snmp=tuple(snmp),
        gnmi=tuple(gnmi),
    )


def _numbered(permits: Iterable[Permit], version: int) -> tuple[tuple[int, str], ...]:
    """The entries of a list in one IP version: a remark and the permits of each flow, then a denial."""
    lines: list[str] = []
    for permit in permits:
        lines.append(f"remark {permit.name}")
        lines.extend(_entries(permit))
    lines.append(_DENY_REST[version])
    return tuple((_STEP * number, line) for number, line in enumerate(lines, 1))


def _entries(permit: Permit) -> Iterator[str]:
    """One entry for each pair of prefixes and each port range or ICMP type."""
    protocol = _protocol(permit)
    tail = " established" if permit.established else ""
    endings = [f" {number}" for number in permit.types] or [tail]
    for source, target, source_ports, target_ports, ending in product(
        permit.sources or (None,),
        permit.targets or (None,),
        permit.source_ports or (None,),
        permit.target_ports or (None,),
        endings,
    ):
        start = f"permit {protocol} {address_words(source)}{_ports(source_ports)}"
        yield f"{start} {address_words(target)}{_ports(target_ports)}{ending}"


def _protocol(permit: Permit) -> str:
    if permit.protocol == "any":
        return WORDS[permit.version]
    if permit.protocol == "icmp" and permit.version == 6:
        return "icmpv6"
    return permit.protocol


def address_words(network: Network | None) -> str:
    """A prefix as EOS shows it: ``any``, ``host`` and an address, or the prefix."""
    if network is None:
        return "any"
    if network.prefixlen == network.max_prefixlen:
        return f"host {network.network_address}"
    return str(network)


def _ports(ports: tuple[int, int] | None) -> str:
    if ports is None:
        return ""
    low, high = ports
    return f" eq {low}" if low == high else f" range {low} {high}"
