"""Access lists of an EOS switch: permits as numbered entries, and the places of each list."""

from __future__ import annotations

from dataclasses import dataclass
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
    """The lines for lists of sources on services of the management VRF, each in its service's configuration.

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
    hosts = host_lists(plan, view)
    management = None if view.management is None else _management_lists(plan, view.management.port.fabric)
    lists: list[AccessList] = []
    host_ports: dict[str, tuple[str, ...]] = {}
    for host_list in hosts:
        name = HOSTS + host_list.suffix
        lists += both_versions(name, host_list.permits)
        host_ports |= dict.fromkeys(host_list.ports, applied(name, "in"))
    services = () if view.management is None else _service_lists(plan, view.management.port.fabric)
    return EosFilters(
        lists=(*lists, *(management or ()), *services),
        hosts=host_ports,
        management=applied(MANAGEMENT, "in") if management is not None else (),
        services=_services({service.name for service in services}),
    )


def applied(name: str, direction: str) -> tuple[str, ...]:
    """The lines for the lists of a name on a port."""
    return tuple(f"{word} access-group {name} {direction}" for word in WORDS.values())


def both_versions(name: str, permits: Iterable[Permit]) -> tuple[AccessList, ...]:
    """A list for each IP version; one without a permit denies everything."""
    given = tuple(permits)
    return tuple(
        AccessList(word, name, _numbered((p for p in given if p.version == version), version))
        for version, word in WORDS.items()
    )


@per_plan
def _management_lists(plan: Plan, fabric: str) -> tuple[AccessList, ...] | None:
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
        for version, word in WORDS.items():
            if (name, version) != (GNMI, 6):
                lists.append(_source_list(word, name, [source for source in sources if source.version == version]))
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
    if not names:
        return EosServices()
    return EosServices(
        ssh=tuple(f"{word} access-group {SSH} vrf MGMT in" for word in WORDS.values()),
        eapi=tuple(f"{word} access-group {EAPI}" for word in WORDS.values()),
        snmp=tuple(f"snmp-server ipv{version} access-list {SNMP} vrf MGMT" for version in WORDS if SNMP in names),
        gnmi=(f"ip access-group {GNMI}",) if GNMI in names else (),
    )


def _numbered(permits: Iterable[Permit], version: int) -> tuple[tuple[int, str], ...]:
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
    for source in permit.sources or (None,):
        for target in permit.targets or (None,):
            for low in permit.source_ports or (None,):
                for high in permit.target_ports or (None,):
                    for ending in endings:
                        start = f"permit {protocol} {address_words(source)}{_ports(low)}"
                        yield f"{start} {address_words(target)}{_ports(high)}{ending}"


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
