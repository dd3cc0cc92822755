"""Capabilities of switch systems, as data: a file of inventory/systems each, with the source of every figure.

Rules, intent and the simulator read it and depend on no system's name. It covers the choice among equal paths,
headroom, settings from the vendor, BGP, the names of interfaces, and configuration added by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.choices.walk import Walk
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.system_releases import SystemReleases
from clusterwright.spec.schema.check import check
from clusterwright.spec.structuring import By, Key, Structuring
from clusterwright.spec.text.document import Path
from clusterwright.spec.text.reader import read_document


@dataclass(frozen=True, slots=True)
class Crc:
    """A CRC with a register of 16 or 32 ``bits``; of 32, the ``half`` (``low`` or ``high``) is used."""

    bits: int
    polynomial: int
    half: str = "low"


@dataclass(frozen=True, slots=True)
class HashAlgorithm:
    """A hash function of a switch: an algorithm by the system's ``name`` for it and its ``seed``.

    ``written`` is the word for the seed in the system's configuration, "" if nothing is written for it; ``crc`` is the
    simulator's computation.
    """

    name: str
    seed: int
    crc: Crc
    written: str = ""


@dataclass(frozen=True, slots=True)
class Hashing:
    """Choice among equal paths by switches with some chips (``asics``; empty for any).

    ``queue_pairs`` is true if RoCE's destination queue pair can be hashed, ``reason`` explains the opposite.
    ``functions`` differ from each other and are in the order of tiers, from the bottom.
    """

    asics: tuple[str, ...]
    queue_pairs: bool
    functions: tuple[HashAlgorithm, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AdaptiveRouting:
    """Conditions for a choice among equal paths for each packet."""

    asics: tuple[str, ...]
    speeds_gbps: tuple[int, ...]
    ipv6_parallel_links: bool
    """True if several links between two switches may have IPv6 addresses."""


@dataclass(frozen=True, slots=True)
class QueueWords:
    """Names of transmit queues on switches with some chips.

    ``word`` opens a queue in a profile, ``count_marks`` is the required statement for counting ECN marks of queues.
    ``assumed`` names the part without a source, "" if there is none.
    """

    asics: tuple[str, ...]
    word: str
    count_marks: str = ""
    assumed: str = ""


def _says(word: str) -> Callable[[Structuring, str, Path], bool]:
    return lambda _, written, __: written == word


@dataclass(frozen=True, slots=True)
class FilterTables:
    """Tables of a chip for the filters at host ports: ``tables`` of ``entries`` each, one for the denies.

    ``reply_flags`` are the possible values of TCP's flags in a reply, each a separate entry. ``is_of_chip`` is False
    for a bound of the numbers of rules; the chip's capacity is unknown then.
    """

    entries: int
    tables: int
    reply_flags: tuple[int, ...]
    is_of_chip: Annotated[bool, Key("bound"), By(_says("chip"))] = True

    def tables_for(self, permits: int) -> int:
        """The number of tables for so many permits, and one for the denies."""
        return -(-permits // self.entries) + 1


ONE_ENTRY_EACH = FilterTables(entries=1, tables=1, reply_flags=(0,))
"""Counting for a system with unknown tables: an entry for each source, target and port of a permit."""


@dataclass(frozen=True, slots=True)
class ChipRules:
    """Capacity of some chips for filter rules of one IP version."""

    asics: tuple[str, ...]
    ipv4: int
    ipv6: int


@dataclass(frozen=True, slots=True)
class PfcLooks:
    """The polling PFC watchdog: bounds of ``every_ms``, and the largest number of looks until a queue counts as
    stuck."""

    every_ms: tuple[int, int]
    most: int


@dataclass(frozen=True, slots=True)
class UnheardKey:
    """A key of specs that a system does not support, and its switches' behaviour instead."""

    key: str
    reason: str
    said_by: str = "lint"
    """The reporter: ``lint`` with a warning, or ``verify`` with a note."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The keys to it from the top, an empty one for each item of a list."""
        return tuple(self.key.replace("[]", ".").split("."))


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a system on values of a spec, None without one.

    ``snmp_user`` are the least and most letters, ``mtu`` the least and most bytes of a port's packets.
    """

    operator_keys: int | None
    dns_servers: int | None
    ntp_servers: int | None
    snmp_user: tuple[int, int] | None
    pfc_detection_ms: int | None
    pfc_looks: PfcLooks | None
    lossless_classes: int | None
    aaa_servers: int | None
    mtu: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ImageProgram:
    """A program of a system's image, or a trap to its processor, required by parts of the configuration."""

    name: str
    """Its name in the system's configuration."""
    serves: frozenset[str]
    """Functions that depend on it: forwarding, sessions, bonds, relays, ..."""
    started: str
    """Its state without configuration: ``always``, ``never``, on the device ``types``, or ``varies`` with the image;
    ``fixed`` is always, without a possible configuration."""
    types: tuple[str, ...] = ()
    """Device types with the program running by default."""
    listens: bool = False
    """True if it opens ports that no list of the configuration guards."""

    def runs_unasked(self, device_type: str) -> bool | None:
        """Whether it runs without configuration; None if that depends on the image."""
        if self.started == "varies":
            return None
        return self.started in {"always", "fixed"} or device_type in self.types


@dataclass(frozen=True, slots=True)
class ContactWords:
    """Recognition of a switch without a configuration by a DHCP server, and the option of the answer.

    ``option`` is the one of the switch's identification, with the text ``begins``; None without identification.
    """

    answer: int
    option: int | None = None
    begins: str | None = None


@dataclass(frozen=True, slots=True)
class FirstContactWords:
    """Zero touch provisioning over DHCP, by version of IP; ``reason`` explains missing service."""

    ipv4: ContactWords | None = None
    ipv6: ContactWords | None = None
    onie: bool = False
    """True if ONIE installs the system."""
    reason: str | None = None

    def over(self, version: int) -> ContactWords | None:
        """The words over a version of IP; None without service over it."""
        return self.ipv4 if version == 4 else self.ipv6


@dataclass(frozen=True, slots=True)
class System:
    """A switch system and its capabilities."""

    name: str
    title: str
    """Its usual name."""
    walk: Walk
    """Extent of tests with its rendered files."""
    limits: Limits
    connection: Annotated[str, Key("reached", "connection")]
    """Ansible's connection."""
    speaks_gnmi: Annotated[bool, Key("reached", "gnmi")]
    routes: Annotated[bool, Key("technology"), By(_says("ethernet"))]
    """True if it forwards by its configuration; others leave that to a subnet manager, and have only ``limits``."""
    chips: Annotated[tuple[str, ...], Key("chips", "names")] = ()
    """Supported switch chips, as ``asic`` names them in the hardware catalogue."""
    network_os: Annotated[str, Key("reached", "network_os")] = ""
    """Ansible's network OS; "" for a Linux machine."""
    tested_by_anta: Annotated[bool, Key("reached", "anta")] = False
    sizes_headroom: Annotated[bool, Key("headroom", "decided_by"), By(_says("configuration"))] = False
    """True if its configuration sets the headroom of ports, and not the chip."""
    needs_chip_settings: Annotated[bool, Key("chip_settings", "needed")] = False
    """True if it starts only with the vendor's settings of the chip."""
    hashing: tuple[Hashing, ...] = ()
    """The choice among equal paths, by chip."""
    adaptive_routing: AdaptiveRouting | None = None
    queues: tuple[QueueWords, ...] = ()
    """Empty for a system with the same words on every chip."""
    filter_tables: FilterTables | None = None
    """None if the bounds of its chips are unknown."""
    chip_rules: tuple[ChipRules, ...] = ()
    loopback: Annotated[str, Key("interfaces", "loopback")] = ""
    """The interface of its loopback address."""
    gateway: Annotated[str, Key("interfaces", "gateway")] = ""
    """The gateway interface for hosts in a shared subnet."""
    authentication: Annotated[frozenset[str], Key("bgp", "authentication")] = frozenset()
    """Methods for its BGP sessions."""
    has_bfd: Annotated[bool, Key("bgp", "bfd")] = False
    """True if BFD can watch its BGP sessions."""
    announces_at_once: Annotated[bool, Key("bgp", "announces"), By(_says("at-once"))] = False
    """True if a route is announced before the chip has it."""
    takes_lines: Annotated[bool, Key("added", "lines")] = False
    """True if the spec may add lines."""
    patched: Annotated[tuple[str, ...], Key("added", "files")] = ()
    """Files that the spec may patch."""
    has_borders: Annotated[bool, Key("rendered", "borders")] = False
    has_macsec: Annotated[bool, Key("rendered", "macsec")] = False
    has_bonds: Annotated[bool, Key("bonds", "lacp")] = False
    bonds_fall_back: Annotated[bool, Key("bonds", "fallback")] = False
    """True if a port of a bond serves a host before the host uses LACP."""
    bond: Annotated[str, Key("bonds", "interface")] = ""
    """Name of a bond before its number."""
    matches_ranges: Annotated[bool, Key("port_ranges", "matched")] = True
    """True if one filter entry covers a range of ports."""
    ports_of_platform: Annotated[bool, Key("ports", "known_by"), By(_says("platform"))] = False
    """True if ports have properties besides names (inventory/hardware/platforms)."""
    writes_spare_ports: Annotated[bool, Key("ports", "written"), By(_says("all"))] = False
    """True if ports without a cable are configured too."""
    takes_platform_files: Annotated[bool, Key("ports", "files")] = False
    """True if vendors' files describe its ports (``platform_files``)."""
    factory_accounts: Annotated[tuple[str, ...], Key("factory_accounts", "names")] = ()
    """Accounts with publicly known passwords in the delivered state."""
    services: Annotated[tuple[ImageProgram, ...], Key("services", "programs")] = ()
    """Programs of its image behind parts of its configuration."""
    announces_aliases: Annotated[bool, Key("lldp", "port_id"), By(_says("alias"))] = False
    """True if LLDP's port id is the port's alias."""
    most_ports_alone: Annotated[int | None, Key("breakouts", "most_alone")] = None
    """Ports of a split cage from which on it takes the lanes of the cage beside it; None without such cages."""
    without_flowlets: Annotated[str, Key("flowlets", "reason")] = ""
    """Why dynamic load balancing by flowlets is not written for it."""
    speeds_gbps: Annotated[tuple[int, ...], Key("speeds", "gbps")] = ()
    """Speeds of ports with a word in its configuration; empty if every speed has one."""
    speeds_source: Annotated[str, Key("speeds", "source")] = ""
    """The documents with these speeds."""
    unheard: tuple[UnheardKey, ...] = ()
    releases: SystemReleases | None = None
    """None if no release is known by its words."""
    tells_release: Annotated[bool, Key("one_text", "release")] = False
    """True if switches report their system, although their text is the same for all."""
    first_contact: FirstContactWords = FirstContactWords()
    relays_v4_from: Annotated[str, Key("relays", "ipv4")] = "gateway"
    """Source address of hosts' relayed DHCP requests: ``gateway`` or ``loopback``."""
    relays_v6_from: Annotated[str, Key("relays", "ipv6")] = "gateway"
    """The same for DHCPv6."""

    @property
    def has_chip_bound(self) -> bool:
        """True if the number of filter entries of its chips is known."""
        return self.filter_tables is not None and self.filter_tables.is_of_chip

    def rules_on(self, asic: str | None, version: int) -> int | None:
        """Capacity of a chip for filter rules of an IP version; None if it is not published."""
        for rules in self.chip_rules:
            if asic in rules.asics:
                return rules.ipv4 if version == 4 else rules.ipv6
        return None

    def relays_from_loopback(self, version: int) -> bool:
        """Whether hosts' relayed DHCP requests have the switch's loopback as source, and not the hosts' gateway."""
        return (self.relays_v4_from if version == 4 else self.relays_v6_from) == "loopback"

    def service(self, name: str) -> ImageProgram | None:
        """A program of its image; None for an unknown one."""
        for service in self.services:
            if service.name == name:
                return service
        return None

    def services_for(self, purpose: str) -> tuple[str, ...]:
        """The names of the programs required for ``purpose``."""
        return tuple(service.name for service in self.services if purpose in service.serves)

    def configured_for(self, purpose: str) -> tuple[str, ...]:
        """The names of those among them that its configuration switches on."""
        needed = [service for service in self.services if purpose in service.serves]
        return tuple(service.name for service in needed if service.started != "fixed")

    def hashing_on(self, asic: str | None) -> Hashing | None:
        """Hashing of switches with a chip; None if unknown."""
        for hashing in self.hashing:
            if not hashing.asics or asic in hashing.asics:
                return hashing
        return None

    def queues_on(self, asic: str | None) -> QueueWords | None:
        """The words for queues of a chip; None without a source, or if all chips have the same."""
        for words in self.queues:
            if asic in words.asics:
                return words
        return None


UNMANAGED = "unmanaged"  # a switch without a management CPU
EXTERNAL = "external"  # a switch configured by another owner
WITHOUT_FILES = frozenset({UNMANAGED, EXTERNAL})

Systems = Mapping[str, System]


@cache
def systems() -> Systems:
    """Every system of the package and of plugins, by name. Raises SpecError for an invalid file."""
    systems = {}
    for folder in data_files.folders("inventory"):
        for path in sorted((folder / "systems").glob("*.yaml")):
            document = read_document(path)
            findings = check(document, "system")
            if findings:
                raise SpecError(findings)
            systems[document.data["name"]] = Structuring("system").typed(System, document.data, ())
    return MappingProxyType(systems)


def system_of(model: HardwareModel) -> System | None:
    """The system of a model; None for nodes, storage, and switches without rendered files.

    Raises KeyError for a system without a file: the catalogue's loader refuses these.
    """
    if model.network_os is None or model.network_os in WITHOUT_FILES:
        return None
    return systems()[model.network_os]


def release_of(model: HardwareModel, stated: str | None) -> str:
    """The release of a switch: its tier's, its model's, or its system's default; "" without any."""
    system = system_of(model)
    default = system.releases.default if system is not None and system.releases is not None else ""
    return stated or model.release or default


def filter_tables_of(name: str) -> FilterTables:
    """Tables for a system's filters. Raises KeyError for a system without a known bound."""
    tables = systems()[name].filter_tables
    if tables is None:
        raise KeyError(name)
    return tables
