"""Settings that switch systems support, as data: a file of inventory/systems each, every figure with its source.

Rules, intent and the simulator read it and know no system by name. It says how equal paths are chosen, who sizes
headroom, what the vendor has to add, what BGP has, which interfaces the system names and what people may add by hand.
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

    ``written`` is the word that selects the seed in the system's configuration, "" where nothing is written for it;
    ``crc`` is what the simulator computes.
    """

    name: str
    seed: int
    crc: Crc
    written: str = ""


@dataclass(frozen=True, slots=True)
class Hashing:
    """How switches with some chips (``asics``; none named: with any) choose among equal paths.

    ``queue_pairs`` says whether RoCE's destination queue pair can be taken in, ``reason`` why not. ``functions`` differ
    from each other and stand in the order in which tiers take them from the bottom.
    """

    asics: tuple[str, ...]
    queue_pairs: bool
    functions: tuple[HashAlgorithm, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AdaptiveRouting:
    """Where switches of a system can choose among equal paths for each packet."""

    asics: tuple[str, ...]
    speeds_gbps: tuple[int, ...]
    ipv6_parallel_links: bool
    """Whether several links between two switches may have IPv6 addresses."""


@dataclass(frozen=True, slots=True)
class QueueWords:
    """How switches with some chips name transmit queues.

    ``word`` opens a queue in a profile, ``count_marks`` is the statement without which no queue counts its ECN marks.
    ``assumed`` is what no source gives, "" where all of it has one.
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

    ``reply_flags`` are the values of TCP's flags, each an entry of its own, that a reply can have. ``is_of_chip`` is
    False for a bound of the numbers of rules: what the chip takes is not known then.
    """

    entries: int
    tables: int
    reply_flags: tuple[int, ...]
    is_of_chip: Annotated[bool, Key("bound"), By(_says("chip"))] = True

    def tables_for(self, permits: int) -> int:
        """The tables that entries for so many permits take, and the one of the denies."""
        return -(-permits // self.entries) + 1


ONE_ENTRY_EACH = FilterTables(entries=1, tables=1, reply_flags=(0,))
"""How a system counts of which no tables are known: an entry for each source, target and port of a permit."""


@dataclass(frozen=True, slots=True)
class ChipRules:
    """How many rules of filters some chips hold, of either IP version alone."""

    asics: tuple[str, ...]
    ipv4: int
    ipv6: int


@dataclass(frozen=True, slots=True)
class PfcLooks:
    """A PFC watchdog that looks at queues: bounds of ``every_ms``, and after how many looks one is stuck at most."""

    every_ms: tuple[int, int]
    most: int


@dataclass(frozen=True, slots=True)
class UnheardKey:
    """A key of specs that a system does not support, and its switches' behaviour instead."""

    key: str
    reason: str
    said_by: str = "lint"
    """``lint``, which warns of it, or ``verify``, which notes it."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The keys to it from the top, an empty one for each item of a list."""
        return tuple(self.key.replace("[]", ".").split("."))


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a system on values that a spec sets, None without one; ``snmp_user`` are the least and most letters."""

    operator_keys: int | None
    dns_servers: int | None
    ntp_servers: int | None
    snmp_user: tuple[int, int] | None
    pfc_detection_ms: int | None
    pfc_looks: PfcLooks | None
    lossless_classes: int | None
    aaa_servers: int | None


@dataclass(frozen=True, slots=True)
class ImageProgram:
    """A program of a system's image, or a trap to its processor, that parts of the configuration need."""

    name: str
    """What the system calls it where it is switched on and off."""
    serves: frozenset[str]
    """What does nothing without it: forwarding, sessions, bonds, relays, ..."""
    started: str
    """``always``, ``never``, on the device ``types``, or ``varies`` with the image, where nothing is configured;
    ``fixed`` is always, and nothing is to be configured."""
    types: tuple[str, ...] = ()
    """Device types on which it runs by itself."""
    listens: bool = False
    """Whether it opens ports of its own that no list of the configuration guards."""

    def runs_unasked(self, device_type: str) -> bool | None:
        """Whether it runs where the configuration says nothing of it; None where that depends on the image."""
        if self.started == "varies":
            return None
        return self.started in {"always", "fixed"} or device_type in self.types


@dataclass(frozen=True, slots=True)
class ContactWords:
    """How a DHCP server knows a switch without a configuration, and the option of its answer.

    ``option`` is the one that ``begins`` with what the switch says it is, None where it says nothing.
    """

    answer: int
    option: int | None = None
    begins: str | None = None


@dataclass(frozen=True, slots=True)
class FirstContactWords:
    """Zero touch provisioning over DHCP, by version of IP; ``reason`` says why nothing is served."""

    ipv4: ContactWords | None = None
    ipv6: ContactWords | None = None
    onie: bool = False
    """Whether ONIE installs the system."""
    reason: str | None = None

    def over(self, version: int) -> ContactWords | None:
        """The words over a version of IP; None where nothing is served over it."""
        return self.ipv4 if version == 4 else self.ipv6


@dataclass(frozen=True, slots=True)
class System:
    """A switch system: what it can be told. ``title`` is what people call it. Ansible reaches it by
    ``connection``, as a ``network_os`` of its own or as a Linux machine ("").

    One that ``routes`` forwards by its own configuration; the others leave that to a subnet manager, and have only
    ``limits``. ``hashing`` is how it chooses among equal paths, by chip; ``sizes_headroom`` says that its configuration
    decides how much headroom ports have, and its chip alone where not; ``needs_chip_settings`` that it does not start
    without settings of the chip that only the vendor gives out. ``filter_tables`` are None where no bound of a chip is
    known. ``loopback`` and ``gateway`` are the interfaces that the system names itself: that of its own address, and
    that which hosts in a shared subnet have for a gateway. ``authentication`` are the methods of its BGP sessions,
    ``has_bfd`` says that BFD watches them, ``announces_at_once`` that a route is announced
    before the chip has it. What a spec adds by hand are lines where ``takes_lines``, and patches of
    ``patched`` files. ``has_borders``, ``has_macsec`` and ``has_bonds`` say that these are rendered for it,
    ``bond`` is what comes before the number of one, ``bonds_fall_back`` that a port of a bond serves a host that does
    not speak LACP yet, ``matches_ranges`` that one entry of a filter takes a range of ports.
    ``ports_of_platform`` says that it knows ports by more than their names (inventory/hardware/platforms),
    ``writes_spare_ports`` that it is told of those without a cable too,
    ``takes_platform_files`` that vendors' files describe them (``platform_files``). ``factory_accounts`` are those
    that it has, with passwords that everybody knows, before it is told anything. ``services`` are the programs of its
    image that parts of its configuration need. ``announces_aliases`` says that LLDP has a port's alias as port id.
    ``relays_v4_from`` and ``relays_v6_from`` say which address DHCP
    requests of hosts leave from: ``gateway`` or ``loopback``.
    """

    name: str
    title: str
    walk: Walk
    """How far tests went with what is rendered for it."""
    limits: Limits
    connection: Annotated[str, Key("reached", "connection")]
    speaks_gnmi: Annotated[bool, Key("reached", "gnmi")]
    routes: Annotated[bool, Key("technology"), By(_says("ethernet"))]
    chips: Annotated[tuple[str, ...], Key("chips", "names")] = ()
    """Switch chips that it is known to run on, as ``asic`` names them in the hardware catalogue."""
    network_os: Annotated[str, Key("reached", "network_os")] = ""
    tested_by_anta: Annotated[bool, Key("reached", "anta")] = False
    sizes_headroom: Annotated[bool, Key("headroom", "decided_by"), By(_says("configuration"))] = False
    needs_chip_settings: Annotated[bool, Key("chip_settings", "needed")] = False
    hashing: tuple[Hashing, ...] = ()
    adaptive_routing: AdaptiveRouting | None = None
    queues: tuple[QueueWords, ...] = ()
    """Empty where the words are the same on every chip."""
    filter_tables: FilterTables | None = None
    chip_rules: tuple[ChipRules, ...] = ()
    loopback: Annotated[str, Key("interfaces", "loopback")] = ""
    gateway: Annotated[str, Key("interfaces", "gateway")] = ""
    authentication: Annotated[frozenset[str], Key("bgp", "authentication")] = frozenset()
    has_bfd: Annotated[bool, Key("bgp", "bfd")] = False
    announces_at_once: Annotated[bool, Key("bgp", "announces"), By(_says("at-once"))] = False
    takes_lines: Annotated[bool, Key("added", "lines")] = False
    patched: Annotated[tuple[str, ...], Key("added", "files")] = ()
    has_borders: Annotated[bool, Key("rendered", "borders")] = False
    has_macsec: Annotated[bool, Key("rendered", "macsec")] = False
    has_bonds: Annotated[bool, Key("bonds", "lacp")] = False
    bonds_fall_back: Annotated[bool, Key("bonds", "fallback")] = False
    bond: Annotated[str, Key("bonds", "interface")] = ""
    matches_ranges: Annotated[bool, Key("port_ranges", "matched")] = True
    ports_of_platform: Annotated[bool, Key("ports", "known_by"), By(_says("platform"))] = False
    writes_spare_ports: Annotated[bool, Key("ports", "written"), By(_says("all"))] = False
    takes_platform_files: Annotated[bool, Key("ports", "files")] = False
    factory_accounts: Annotated[tuple[str, ...], Key("factory_accounts", "names")] = ()
    services: Annotated[tuple[ImageProgram, ...], Key("services", "programs")] = ()
    announces_aliases: Annotated[bool, Key("lldp", "port_id"), By(_says("alias"))] = False
    most_ports_alone: Annotated[int | None, Key("breakouts", "most_alone")] = None
    """Ports of a split cage from which on it takes the lanes of the cage beside it; None where no cage does."""
    without_flowlets: Annotated[str, Key("flowlets", "reason")] = ""
    """Why dynamic load balancing by flowlets is not written for it."""
    speeds_gbps: Annotated[tuple[int, ...], Key("speeds", "gbps")] = ()
    """Speeds of ports that its configuration has words for; empty where it has one for each."""
    speeds_source: Annotated[str, Key("speeds", "source")] = ""
    """The documents that these speeds were read in."""
    unheard: tuple[UnheardKey, ...] = ()
    releases: SystemReleases | None = None
    """None where no release is known by its words."""
    tells_release: Annotated[bool, Key("one_text", "release")] = False
    """Whether switches tell which one they run, though their text is the same for all."""
    first_contact: FirstContactWords = FirstContactWords()
    relays_v4_from: Annotated[str, Key("relays", "ipv4")] = "gateway"
    relays_v6_from: Annotated[str, Key("relays", "ipv6")] = "gateway"

    @property
    def has_chip_bound(self) -> bool:
        """Whether it is known how many entries of filters its chips take."""
        return self.filter_tables is not None and self.filter_tables.is_of_chip

    def rules_on(self, asic: str | None, version: int) -> int | None:
        """How many rules of filters of an IP version a chip holds; None where nobody publishes it."""
        for rules in self.chip_rules:
            if asic in rules.asics:
                return rules.ipv4 if version == 4 else rules.ipv6
        return None

    def relays_from_loopback(self, version: int) -> bool:
        """Whether DHCP requests of hosts leave from the switch's loopback, and not from the hosts' gateway."""
        return (self.relays_v4_from if version == 4 else self.relays_v6_from) == "loopback"

    def service(self, name: str) -> ImageProgram | None:
        """A program of its image; None for one that nothing is known of."""
        return next((service for service in self.services if service.name == name), None)

    def services_for(self, purpose: str) -> tuple[str, ...]:
        """The names of the programs that something needs."""
        return tuple(service.name for service in self.services if purpose in service.serves)

    def configured_for(self, purpose: str) -> tuple[str, ...]:
        """The names of those that its configuration switches on for it."""
        needed = (service for service in self.services if purpose in service.serves)
        return tuple(service.name for service in needed if service.started != "fixed")

    def hashing_on(self, asic: str | None) -> Hashing | None:
        """Hashing of switches with a chip; None where it is not known."""
        return next((hashing for hashing in self.hashing if not hashing.asics or asic in hashing.asics), None)

    def queues_on(self, asic: str | None) -> QueueWords | None:
        """The words for queues of a chip; None where no source tells them, or all chips have the same."""
        return next((words for words in self.queues if asic in words.asics), None)


UNMANAGED = "unmanaged"  # what a switch runs that has no CPU of its own
EXTERNAL = "external"  # what a switch runs that somebody else configures
WITHOUT_FILES = frozenset({UNMANAGED, EXTERNAL})

Systems = Mapping[str, System]


@cache
def systems() -> Systems:
    """Every system of the package and of plugins, by name. Raises SpecError for a file that does not read."""
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
    """The system that a model runs; None for nodes, storage, and switches without one of their own.

    Raises KeyError for a system that has no file: the catalogue's loader lets none in.
    """
    if model.network_os is None or model.network_os in WITHOUT_FILES:
        return None
    return systems()[model.network_os]


def release_of(model: HardwareModel, stated: str | None) -> str:
    """The release that a switch runs: as its tier states it, its model, or its system's default; "" where none does."""
    system = system_of(model)
    default = system.releases.default if system is not None and system.releases is not None else ""
    return stated or model.release or default


def filter_tables_of(name: str) -> FilterTables:
    """Tables for a system's filters. Raises KeyError for a system without a known bound."""
    tables = systems()[name].filter_tables
    if tables is None:
        raise KeyError(name)
    return tables
