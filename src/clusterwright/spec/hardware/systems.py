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
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.reader import read_document


@dataclass(frozen=True, slots=True)
class Crc:
    """A CRC with a register of 16 or 32 ``bits``; of 32, the ``half`` (``low`` or ``high``) is used."""

    bits: int
    polynomial: int
    half: str


@dataclass(frozen=True, slots=True)
class HashFunction:
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
    functions: tuple[HashFunction, ...]


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
class System:
    """A switch system: what it can be told about choosing among equal paths, by chip.

    ``sizes_headroom`` says that its configuration decides how much headroom ports have, and its chip alone where not;
    ``needs_chip_settings`` that it does not start without settings of the chip that only the vendor gives out.
    ``filter_tables`` are None where no bound of a chip is known. ``loopback`` and ``gateway`` are the interfaces that
    the system names itself: that of its own address, and that which hosts in a shared subnet have for a gateway.
    ``authentication`` are the methods of its BGP sessions, ``has_bfd`` says that BFD watches them. What a spec adds by
    hand are lines where ``takes_lines``, and patches of ``patched`` files.
    """

    name: str
    sizes_headroom: bool
    needs_chip_settings: bool
    hashing: tuple[Hashing, ...]
    filter_tables: FilterTables | None
    loopback: str
    gateway: str
    authentication: frozenset[str]
    has_bfd: bool
    takes_lines: bool
    patched: tuple[str, ...]

    def hashing_on(self, asic: str | None) -> Hashing | None:
        """What holds for switches with a chip; None where nothing is known of it."""
        return next((each for each in self.hashing if not each.asics or asic in each.asics), None)


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


def filter_tables_of(name: str) -> FilterTables:
    """What a system's filters may take of a chip. Raises KeyError for one of which no bound is known."""
    found = systems()[name].filter_tables
    if found is None:
        raise KeyError(name)
    return found


def _system(data: Mapping[str, Any]) -> System:
    interfaces, bgp, added = data["interfaces"], data["bgp"], data["added"]
    return System(
        name=data["name"],
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
    )


def _filter_tables(data: Mapping[str, Any] | None) -> FilterTables | None:
    return None if data is None else FilterTables(data["entries"], data["tables"], tuple(data["reply_flags"]))


def _hashing(data: Mapping[str, Any]) -> Hashing:
    return Hashing(
        asics=tuple(data.get("asics", ())),
        queue_pairs=data["queue_pairs"],
        reason=data.get("reason", ""),
        functions=tuple(
            HashFunction(each["name"], each["seed"], each.get("written", ""), _crc(each["crc"]))
            for each in data["functions"]
        ),
    )


def _crc(data: Mapping[str, Any]) -> Crc:
    return Crc(data["bits"], data["polynomial"], data.get("half", "low"))
