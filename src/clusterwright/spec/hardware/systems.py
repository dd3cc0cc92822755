"""What switch systems can be told, as data: one file of inventory/systems for each, every figure with its source.

Rules, intent and the simulator read it and know no system by name. It says how equal paths are chosen, who sizes
headroom, what the vendor has to add, what BGP has, which interfaces the system names and what people may add by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.reader import read_document


@dataclass(frozen=True, slots=True)
class Crc:
    """A CRC with a register of 16 or 32 ``bits``; of 32, the ``half`` (``low`` or ``high``) is used."""

    bits: int
    polynomial: int
    half: str


@dataclass(frozen=True, slots=True)
class HashAlgorithm:
    """A hash function of a switch: an algorithm by the system's ``name`` for it and its ``seed``.

    ``written`` is the word that selects the seed in the system's configuration, "" where nothing is written for it;
    ``crc`` is what the simulator computes.
    """

    name: str
    seed: int
    written: str
    crc: Crc


@dataclass(frozen=True, slots=True)
class Hashing:
    """How switches with some chips (``asics``; none named: with any) choose among equal paths.

    ``queue_pairs`` says whether RoCE's destination queue pair can be taken in, ``reason`` why not. ``functions`` differ
    from each other and stand in the order in which tiers take them from the bottom.
    """

    asics: tuple[str, ...]
    queue_pairs: bool
    reason: str
    functions: tuple[HashAlgorithm, ...]


@dataclass(frozen=True, slots=True)
class FilterTables:
    """What the filters at hosts' ports may take of a chip: ``tables`` of ``entries`` each, one of them for the denies.

    ``reply_flags`` are the values of TCP's flags, each an entry of its own, that a reply can have.
    """

    entries: int
    tables: int
    reply_flags: tuple[int, ...]

    def tables_for(self, permits: int) -> int:
        """The tables that entries for so many permits take, and the one of the denies."""
        return -(-permits // self.entries) + 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a system on values that a spec sets, None without one; ``snmp_user`` are the least and most letters."""

    operator_keys: int | None
    dns_servers: int | None
    ntp_servers: int | None
    snmp_user: tuple[int, int] | None
    pfc_detection_ms: int | None


@dataclass(frozen=True, slots=True)
class System:
    """A switch system: what it can be told. ``title`` is what people call it.

    One that ``routes`` forwards by its own configuration; the others leave that to a subnet manager, and have only
    ``limits``. ``hashing`` is how it chooses among equal paths, by chip; ``sizes_headroom`` says that its configuration
    decides how much headroom ports have, and its chip alone where not; ``needs_chip_settings`` that it does not start
    without settings of the chip that only the vendor gives out. ``filter_tables`` are None where no bound of a chip is
    known. ``loopback`` and ``gateway`` are the interfaces that the system names itself: that of its own address, and
    that which hosts in a shared subnet have for a gateway. ``authentication`` are the methods of its BGP sessions,
    ``has_bfd`` says that BFD watches them. What a spec adds by hand are lines where ``takes_lines``, and patches of
    ``patched`` files. ``has_borders`` and ``has_macsec`` say that these are rendered for it, ``matches_ranges`` that
    one entry of a filter takes a range of ports. ``ports_of_platform`` says that it knows ports by more than their
    names (inventory/hardware/platforms), ``writes_spare_ports`` that it is told of those without a cable too,
    ``takes_platform_files`` that vendors' files describe them (``platform_files``).
    """

    name: str
    title: str
    limits: Limits
    routes: bool = False
    sizes_headroom: bool = False
    needs_chip_settings: bool = False
    hashing: tuple[Hashing, ...] = ()
    filter_tables: FilterTables | None = None
    loopback: str = ""
    gateway: str = ""
    authentication: frozenset[str] = frozenset()
    has_bfd: bool = False
    takes_lines: bool = False
    patched: tuple[str, ...] = ()
    has_borders: bool = False
    has_macsec: bool = False
    matches_ranges: bool = True
    ports_of_platform: bool = False
    writes_spare_ports: bool = False
    takes_platform_files: bool = False

    def hashing_on(self, asic: str | None) -> Hashing | None:
        """What holds for switches with a chip; None where nothing is known of it."""
        return next((each for each in self.hashing if not each.asics or asic in each.asics), None)


UNMANAGED = "unmanaged"  # what a switch runs that has no CPU of its own

Systems = Mapping[str, System]


@cache
def systems() -> Systems:
    """Every system that travels with the package, by name. Raises SpecError for a file that does not read."""
    found = {}
    for path in sorted((data_files.folder("inventory") / "systems").glob("*.yaml")):
        document = read_document(path)
        findings = check(document, "system")
        if findings:
            raise SpecError(findings)
        found[document.data["name"]] = _system(document.data)
    return MappingProxyType(found)


def system_of(model: HardwareModel) -> System | None:
    """The system that a model runs; None for nodes, storage, and switches without one of their own.

    Raises KeyError for a system that has no file: the catalogue's loader lets none in.
    """
    return None if model.network_os in {None, UNMANAGED} else systems()[model.network_os]


def filter_tables_of(name: str) -> FilterTables:
    """What a system's filters may take of a chip. Raises KeyError for one of which no bound is known."""
    found = systems()[name].filter_tables
    if found is None:
        raise KeyError(name)
    return found


def _system(data: Mapping[str, Any]) -> System:
    name, title, limits = data["name"], data["title"], _limits(data["limits"])
    if data["technology"] == "infiniband":
        return System(name, title, limits)
    interfaces, bgp, added, ports = data["interfaces"], data["bgp"], data["added"], data.get("ports", {})
    return System(
        name,
        title,
        limits,
        routes=True,
        sizes_headroom=data["headroom"]["decided_by"] == "configuration",
        needs_chip_settings=data["chip_settings"]["needed"],
        hashing=tuple(_hashing(each) for each in data["hashing"]),
        filter_tables=_filter_tables(data.get("filter_tables")),
        loopback=interfaces["loopback"],
        gateway=interfaces["gateway"],
        authentication=frozenset(bgp["authentication"]),
        has_bfd=bgp["bfd"],
        takes_lines=added.get("lines", False),
        patched=tuple(added.get("files", ())),
        has_borders=data["rendered"]["borders"],
        has_macsec=data["rendered"]["macsec"],
        matches_ranges=data["port_ranges"]["matched"],
        ports_of_platform=ports.get("known_by") == "platform",
        writes_spare_ports=ports.get("written") == "all",
        takes_platform_files=ports.get("files", False),
    )


def _limits(data: Mapping[str, Any]) -> Limits:
    low, high = data.get("snmp_user", (None, None))
    return Limits(
        operator_keys=data.get("operator_keys"),
        dns_servers=data.get("dns_servers"),
        ntp_servers=data.get("ntp_servers"),
        snmp_user=None if low is None else (low, high),
        pfc_detection_ms=data.get("pfc_detection_ms"),
    )


def _filter_tables(data: Mapping[str, Any] | None) -> FilterTables | None:
    return None if data is None else FilterTables(data["entries"], data["tables"], tuple(data["reply_flags"]))


def _hashing(data: Mapping[str, Any]) -> Hashing:
    return Hashing(
        asics=tuple(data.get("asics", ())),
        queue_pairs=data["queue_pairs"],
        reason=data.get("reason", ""),
        functions=tuple(
            HashAlgorithm(each["name"], each["seed"], each.get("written", ""), _crc(each["crc"]))
            for each in data["functions"]
        ),
    )


def _crc(data: Mapping[str, Any]) -> Crc:
    return Crc(data["bits"], data["polynomial"], data.get("half", "low"))
