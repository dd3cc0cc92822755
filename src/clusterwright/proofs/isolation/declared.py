"""Isolation of a spec: zones as addresses, the flows between them, the place of each device. All else is denied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from clusterwright.facts.reader import LEASES
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges, ranges, values
from clusterwright.packets.values import read_address, server_address
from clusterwright.proofs.isolation.declared_bridges import DeclaredBridge
from clusterwright.spec.ethernet import SessionAuthentication

INTERNET = "internet"
MOST_PORTS = 64  # longer ranges would fill a chip's table with single ports
OUTSIDE = ""  # fabric of addresses outside all fabrics


@dataclass(frozen=True, slots=True)
class ZonePart:
    """Addresses of a zone on one fabric, or outside (``OUTSIDE``), of one IP version."""

    fabric: str
    version: int
    addresses: Ranges


@dataclass(frozen=True, slots=True)
class DeclaredZone:
    """A zone; ``is_ports`` is True for a zone of a whole fabric, including switches' management ports."""

    name: str
    kind: str
    isolated: bool
    is_ports: bool
    parts: tuple[ZonePart, ...]

    def on(self, fabric: str) -> bool:
        """True for a zone with addresses on a fabric."""
        return any(part.fabric == fabric for part in self.parts)


@dataclass(frozen=True, slots=True)
class DeclaredFlow:
    """A flow; ``ports`` are destination ports, None for every port and for protocols without ports."""

    name: str
    source: str
    target: str
    protocol: str
    ports: Ranges | None
    is_rdma: bool

    @property
    def has_long_range(self) -> bool:
        """True for a range of more ports than a chip without ranges lists one by one."""
        return self.ports is not None and any(high - low >= MOST_PORTS for low, high in self.ports.bounds)


@dataclass(frozen=True, slots=True)
class DeclaredFabric:
    """A fabric with addresses; ``pool`` are those of its hosts."""

    name: str
    technology: str
    version: int
    pool: Ranges
    is_provided: bool = False


@dataclass(frozen=True, slots=True)
class DeclaredEdge:
    """A switch with host ports: ``subnet`` are the addresses behind it, ``ports`` lead to (device, port) there.

    ``gateway`` is the switch's own address there, None if each host has its own link. With ``relays`` the switch relays
    DHCP for its hosts, so these may send requests; ``relay_source`` is its source address, None without one.
    """

    switch: str
    fabric: str
    subnet: Ranges
    ports: Mapping[str, tuple[str, str]]
    relays: bool
    gateway: int | None = None
    relay_source: int | None = None


@dataclass(frozen=True, slots=True)
class DeclaredBorder:
    """A session with a network outside, over a switch's port; ``zones`` lie behind it.

    ``prefixes`` are theirs in its IP version, as addresses and lengths, each as its zone writes it. The neighbour is of
    AS ``asn``, and both ends use ``authentication``, if the spec sets it.
    """

    name: str
    switch: str
    port: str
    fabric: str
    version: int
    switch_address: int
    neighbour: int
    zones: tuple[str, ...]
    prefixes: tuple[tuple[int, int], ...]
    asn: int
    authentication: SessionAuthentication | None


@dataclass(frozen=True, slots=True)
class DeclaredLogin:
    """An operator on switches: public ``keys`` (type and key), password login, right to change the configuration."""

    keys: frozenset[str]
    has_password: bool
    is_admin: bool


@dataclass(frozen=True, slots=True)
class DeclaredManagement:
    """Logins and servers of the site for switches of one system."""

    logins: Mapping[str, DeclaredLogin]
    snmp_users: frozenset[str]
    servers: Mapping[str, frozenset[tuple[int, int]]]
    """Servers by service."""
    unsupported: tuple[str, ...]
    """Keys of the spec with values unsupported by the system, with the reason."""

    def missing_servers(self, service: str, servers: Iterable[str]) -> tuple[str, ...]:
        """Planned servers for a service missing from ``servers``."""
        used = set()
        for server in servers:
            with suppress(ValueError):  # a name: isolation reports it
                used.add(server_address(server))
        return tuple(address(*missing) for missing in sorted(self.servers[service] - used))


@dataclass(frozen=True, eq=False)
class DeclaredIsolation:
    """The whole matrix, and the places enforcing it. Compared by identity, so that results can be cached by it.

    ``zones_of`` are the zones of each node, ``imaged`` the nodes with an image, ``addresses`` all hosts' addresses with
    device and port. ``management`` are the management ports of switches: device to fabric. ``plumbing`` are other
    permitted destinations of routes, with their version: switches' own addresses, and the site's servers. ``networks``
    are all addresses of each fabric by IP version, of hosts and of its switches, ``switches`` the fabric of each
    switch. ``linked`` are the ports of each switch with a planned cable or border.

    ``logins`` are the operators of switches, ``added_logins`` by switch the same with the accounts of ``extra_config``,
    and ``snmp_users`` the users of SNMP. ``servers`` are by service (`facts.reader`) the servers that switches may use;
    ``managed`` has by system the part supported by the system. ``collecting`` is the port of switches for telemetry
    collectors, None without telemetry.
    """

    zones: tuple[DeclaredZone, ...]
    flows: tuple[DeclaredFlow, ...]
    fabrics: tuple[DeclaredFabric, ...]
    zones_of: Mapping[str, tuple[str, ...]]
    imaged: frozenset[str]
    edges: tuple[DeclaredEdge, ...]
    borders: tuple[DeclaredBorder, ...]
    management: Mapping[str, str]
    plumbing: tuple[tuple[int, Ranges], ...]
    networks: Mapping[str, Mapping[int, Ranges]]
    switches: Mapping[str, str]
    addresses: Mapping[tuple[int, int], tuple[str, str]]
    linked: Mapping[str, frozenset[str]]
    logins: Mapping[str, DeclaredLogin]
    added_logins: Mapping[str, Mapping[str, DeclaredLogin]]
    snmp_users: frozenset[str]
    servers: Mapping[str, frozenset[tuple[int, int]]]
    lease_servers: Mapping[str, frozenset[tuple[int, int]]]
    """Permitted DHCP servers for the relays of each fabric's switches."""
    managed: Mapping[str, DeclaredManagement]
    collecting: int | None = None
    fabric_sources: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Version and number of the source address of requests to servers, by switch without a management port."""
    login_service: tuple[str, int] = ("tcp", 49)
    """Protocol and port of the login servers (AAA)."""
    beside_others: frozenset[str] = frozenset()
    """Nodes installed by another owner: other programs have tables there too."""
    networks_elsewhere: frozenset[str] = frozenset()
    """Nodes with interfaces configured by their own system."""
    bridges: Mapping[str, tuple[DeclaredBridge, ...]] = field(default_factory=dict)
    """Container bridges with forwarding in the node's filter, by node."""
    internet: tuple[str, ...] = ()
    """Openings between zones and the internet by flows, in words."""
    default_gateways: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """Version and number of each interface's gateway, by node with a flow to or from the internet."""

    @cached_property
    def known(self) -> Mapping[int, Ranges]:
        """Permitted destinations of routes, by IP version."""
        addresses = {**self._plumbed}
        for zone in self.zones:
            for part in zone.parts:
                addresses[part.version] |= part.addresses
        for fabric in self.fabrics:
            addresses[fabric.version] |= fabric.pool
        return addresses

    def ports_by_zones(self, edge: DeclaredEdge) -> Mapping[tuple[str, ...], list[str]]:
        """Ports of a switch to hosts, by the zones of these hosts on its fabric."""
        on_fabric = {zone.name for zone in self.zones if zone.on(edge.fabric)}
        ports: dict[tuple[str, ...], list[str]] = {}
        for port, (host, _) in edge.ports.items():
            zones = tuple(zone for zone in self.zones_of.get(host, ()) if zone in on_fabric)
            ports.setdefault(zones, []).append(port)
        return ports

    @cached_property
    def link_at(self) -> Mapping[tuple[str, str], tuple[int, int]]:
        """The two addresses of a host's own link, by device and port."""
        return {end: (number - number % 2, number - number % 2 + 1) for (_, number), end in self.addresses.items()}

    @cached_property
    def _plumbed(self) -> Mapping[int, Ranges]:
        """Addresses of ``plumbing`` by IP version."""
        bounds: dict[int, list[tuple[int, int]]] = {4: [], 6: []}
        for version, addresses in self.plumbing:
            bounds[version].extend(addresses.bounds)
        return {version: ranges(of_version) for version, of_version in bounds.items()}

    @property
    def _beyond(self) -> frozenset[tuple[str, int, int]]:
        """Switch, IP version and number of each neighbour's address at borders."""
        return frozenset((border.switch, border.version, border.neighbour) for border in self.borders)

    @cached_property
    def _border_ends(self) -> frozenset[tuple[str, int, int]]:
        """Switch, IP version and number of each switch address at borders."""
        return frozenset((border.switch, border.version, border.switch_address) for border in self.borders)

    def relays(self, fabric: str) -> Ranges:
        """Source addresses of the DHCP relays of a fabric."""
        return self._relays.get(fabric, EMPTY)

    @cached_property
    def _relays(self) -> Mapping[str, Ranges]:
        """Source addresses of DHCP relays, by fabric."""
        relays: dict[str, list[int]] = {}
        for edge in self.edges:
            if edge.relays and edge.relay_source is not None:
                relays.setdefault(edge.fabric, []).append(edge.relay_source)
        return {fabric: values(*sources) for fabric, sources in relays.items()}

    def unmet(self, switch: str, neighbour: str) -> str:
        """Fault of a BGP neighbour's address at a switch; "" for a planned link or border.

        Hosts have no sessions. Raises ValueError for text that is no address.
        """
        version, number, _ = read_address(neighbour)
        if number in self._plumbed[version] or (switch, version, number) in self._beyond:
            return ""
        return f"a BGP session with {neighbour}, which is on no planned link and at no border"

    def serves(self, service: str, server: str, switch: str) -> bool:
        """True for a server of the spec for a service of a switch. Raises ValueError for text that is no address."""
        if service == LEASES:
            return server_address(server) in self.lease_servers.get(self.switches.get(switch, ""), frozenset())
        return server_address(server) in self.servers[service]

    def knows(self, text: str) -> bool:
        """True for a prefix, or an address with or without the length of its network, beginning on a planned network.

        Raises ValueError for text that is no address.
        """
        return self._is_known(*read_address(text))

    def _is_known(self, version: int, number: int, length: str) -> bool:
        return length != "0" and number in self.known[version]

    def misplaced(self, switch: str, port: str, text: str) -> str:
        """Fault of the address of a switch's interface, with or without its length; "" for a planned one.

        A management port has its planned address, in a network as large as that behind the switch it is cabled to, and
        no interface has an address of another device or of another fabric's networks. Raises ValueError for text that
        is no address.
        """
        version, number, length = read_address(text)
        planned = self.managed_ends.get((switch, port))
        if planned is not None:
            planned_version, planned_number, planned_length = planned
            is_planned = number == planned_number and length in ("", planned_length)
            if version == planned_version and not is_planned:
                planned_address = f"{address(planned_version, planned_number)}/{planned_length}"
                return f"{port} has the address {text}, and the plan gives it {planned_address}"
        if (switch, version, number) in self._border_ends:
            return ""
        owner, _ = self.addresses.get((version, number), (switch, ""))
        if owner != switch:
            return f"{port} has the address {text}, which is that of {owner}"
        fabric = "" if planned is not None else self._elsewhere(switch, version, number)
        if fabric:
            return f"{port} has the address {text}, which is in a network of the fabric {fabric}"
        is_known = self._is_known(version, number, length)
        return "" if is_known else f"{port} has the address {text}, which is on no planned network"

    def _elsewhere(self, switch: str, version: int, number: int) -> str:
        """Other fabric containing an address; "" for an address of the switch's own fabric or of none.

        A switch's own address in the management network is not checked unless a cable leads there.
        """
        networks = self.networks.get(self.switches.get(switch, ""), {})
        if number in networks.get(version, EMPTY):
            return ""
        management = self.networks.get(self.management.get(switch, ""), {})
        if switch not in self._managed and number in management.get(version, EMPTY):
            return ""
        holders = (name for name, networks in self.networks.items() if number in networks.get(version, EMPTY))
        return next(holders, "")

    def owner(self, text: str) -> str:
        """Device of a host's or management port's address; "" for any other text."""
        try:
            return self.addresses.get(read_address(text)[:2], ("", ""))[0]
        except ValueError:
            return ""

    @cached_property
    def _managed(self) -> frozenset[str]:
        """Switches with a planned address at a management port."""
        return frozenset(switch for switch, _ in self.managed_ends)

    @cached_property
    def managed_ends(self) -> Mapping[tuple[str, str], tuple[int, int, str]]:
        """Planned version, address and prefix length of each management port of a switch."""
        sizes: dict[tuple[str, str], int] = {}
        for edge in self.edges:
            sizes.update(dict.fromkeys(edge.ports.values(), edge.subnet.size()))
        managed: dict[tuple[str, str], tuple[int, int, str]] = {}
        for (version, number), end in self.addresses.items():
            device, _ = end
            if device not in self.management:
                continue
            bits = 32 if version == 4 else 128
            prefix_length = bits - (sizes[end] - 1).bit_length()
            managed[end] = (version, number, str(prefix_length))
        return managed

    def has_default_route(self, device: str, destination: str, hop: str) -> bool:
        """Whether a device's default route through a gateway is needed by a flow to the internet."""
        gateways = self.default_gateways.get(device, {}).values()
        if destination not in ("0.0.0.0/0", "::/0"):
            return False
        try:
            version, number, _ = read_address(hop)
        except ValueError:
            return False
        return (version, number) in gateways and version == (6 if ":" in destination else 4)

    @cached_property
    def zone(self) -> Mapping[str, DeclaredZone]:
        """Zones by name."""
        return {zone.name: zone for zone in self.zones}

    @cached_property
    def fabric(self) -> Mapping[str, DeclaredFabric]:
        """Fabrics by name."""
        return {fabric.name: fabric for fabric in self.fabrics}

    def port_zones(self, fabric: str) -> tuple[str, ...]:
        """Zones with the management ports on a fabric."""
        zones = [zone for zone in self.zones if zone.is_ports]
        return tuple(zone.name for zone in zones if zone.on(fabric))

    def peers(self, mine: str, other: str, fabric: str, version: int) -> Ranges:
        """Addresses of the zone ``other`` reachable from the zone ``mine`` over a fabric.

        If both are on the fabric: the other's addresses there, and over plain Ethernet its addresses outside. If they
        share another fabric: none; if they share none, plain Ethernet leads to all of them.
        """
        zone, peer_zone = self.zone[mine], self.zone[other]
        is_plain = self.fabric[fabric].technology == "ethernet"
        if peer_zone.on(fabric):
            wanted = {fabric, OUTSIDE} if is_plain else {fabric}
        elif not is_plain or self._share_fabric(zone, peer_zone):
            return EMPTY
        else:
            wanted = {fabric.name for fabric in self.fabrics} | {OUTSIDE}
        addresses = EMPTY
        for part in peer_zone.parts:
            if part.fabric in wanted and part.version == version:
                addresses |= part.addresses
        return addresses

    def _share_fabric(self, zone: DeclaredZone, other: DeclaredZone) -> bool:
        return any(zone.on(fabric.name) and other.on(fabric.name) for fabric in self.fabrics)

    def zone_at(self, version: int, address: int) -> str:
        """Smallest zone with an address; "the internet" for an address in no zone."""
        candidates: list[tuple[int, bool, int, str]] = []
        for index, zone in enumerate(self.zones):
            parts = [part for part in zone.parts if part.version == version]
            holding = [part for part in parts if address in part.addresses]
            candidates += [(part.addresses.size(), zone.kind == "boot", index, zone.name) for part in holding]
        return min(candidates)[-1] if candidates else "the internet"
