"""The objects that a source of truth keeps: a row each, referring to each other by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clusterwright.extras.source_of_truth.listing import Listing

Key = tuple[str, ...]


class Ref(NamedTuple):
    """The object of ``table`` that has ``key``."""

    table: str
    key: Key


class KeptRow(NamedTuple):
    """An object: its natural key, and its fields by the names of the REST interface; values may be a Ref, or many."""

    table: str
    key: Key
    fields: Mapping[str, Any]


MARKS = tuple(map(chr, range(0xFDD0, 0xFDE0)))
"""The placeholders of a pattern's words: code points of private use, which no name has."""
Words = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows of a table that differ in some words alone: one of them, with a mark in the place of each word.

    There are 800,000 rows at full size and some hundred patterns, so each decision on a row, and its text in a
    server's words, is made once a pattern. ``further`` are cells that a file has and the row has not.
    """

    row: KeptRow
    further: Mapping[str, str] = field(default_factory=dict)

    def filled(self, words: Words) -> Pattern:
        """The same with ``words`` in the places of the marks."""
        if not words:
            return self
        placed = str.maketrans(dict(zip(MARKS, words, strict=False)))
        table, key, fields = self.row
        filled = {**fields, **{name: _filled(fields[name], placed) for name in self._marked}}
        row = KeptRow(table, tuple(part.translate(placed) for part in key), filled)
        return Pattern(row, {name: cell.translate(placed) for name, cell in self.further.items()})

    @cached_property
    def _marked(self) -> tuple[str, ...]:
        """The fields with marks: all others are one object in every row."""
        return tuple(name for name, value in self.row.fields.items() if _filled(value, _UNMARKED) != value)


_UNMARKED = str.maketrans(dict.fromkeys(MARKS, ""))


def _filled(value: Any, placed: dict[int, str]) -> Any:
    if isinstance(value, str):
        return value.translate(placed)
    if isinstance(value, Ref):
        return Ref(value.table, tuple(part.translate(placed) for part in value.key))
    if isinstance(value, tuple):
        return tuple(_filled(item, placed) for item in value)
    if isinstance(value, dict):
        return {name: _filled(item, placed) for name, item in value.items()}
    return value


Told = tuple[Pattern, Words]
"""A row: its pattern, and the words of it."""


def told(row: KeptRow) -> Told:
    """A row that is like no other."""
    return Pattern(row), ()


def cable_key(one: Key, other: Key) -> Key:
    """The key of a cable between two interfaces: theirs, the first by name first, whichever is told first."""
    return (*min(one, other), *max(one, other))


# What else people put into a device: lists of both servers.
BELONGINGS = (
    "dcim/console-ports", "dcim/power-ports", "dcim/front-ports", "dcim/rear-ports", "dcim/modules",
    "dcim/inventory-items", "ipam/services",
)  # fmt: skip
Record = Mapping[str, Any]
"""An object as a server tells it."""
Lookup = Callable[[str, Any], Key | None]
"""The key of the object of a table that has an id, None for one that is not looked at."""


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A kind of object."""

    name: str
    endpoint: str
    key: tuple[tuple[str, str | None], ...] = (("name", None),)
    """The fields of a row's key, each with the table that it refers to, or None."""
    within: tuple[str, str | None] | None = ("name", None)
    """Limits the list: a parameter of the interface, and the table whose rows it takes.

    None in place of the table stands for the values of the rows' field of that name; None alone lists all objects.
    """
    shared: bool = False
    """Objects that other sites use too: made where they are lacking, never changed or deleted."""
    locate: Callable[[Record, Lookup], Key | None] | None = None
    """Finds the key of a record where ``key`` is not enough."""
    amends: str | None = None
    """The table whose objects get further fields, once the objects that these refer to exist."""
    owner: tuple[str, str] | None = None
    """The field and table of an object: where that one is ours, a planned name at it is ours as well."""
    forgets_tags: bool = False
    """The server answers with the tags of a new object, and does not keep them."""
    set_once: tuple[str, ...] = ()
    """Fields that the plan sets on a new object only."""


# The tables that NetBox and Nautobot have in common.
TAGS = KeptTable("tags", "extras/tags", shared=True)
MANUFACTURERS = KeptTable("manufacturers", "dcim/manufacturers", shared=True)
DEVICE_TYPES = KeptTable(
    name="device-types",
    endpoint="dcim/device-types",
    key=(("manufacturer", "manufacturers"), ("model", None)),
    within=("model", None),
    shared=True,
)
PLATFORMS = KeptTable("platforms", "dcim/platforms", shared=True)
LAG_MEMBERS = KeptTable("lag-members", "dcim/interfaces", amends="interfaces")
REACHABLE_AT = KeptTable("reachable-at", "dcim/devices", amends="devices")


def interfaces_within(place: tuple[str, str]) -> KeptTable:
    """The table of interfaces, limited to the devices of a place."""
    return KeptTable(
        name="interfaces",
        endpoint="dcim/interfaces",
        key=(("device", "devices"), ("name", None)),
        within=place,
        owner=("device", "devices"),
    )


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A source of truth: its tables, their rows, and the files that its import reads."""

    name: str
    title: str
    tables: tuple[KeptTable, ...]
    """In the order in which they can be filled."""
    rows_by_table: Mapping[str, Callable[[Listing], Iterator[Told]]]
    files: Callable[[Listing], Mapping[str, Iterator[str]]]
    """Lines of each file."""
    query: Mapping[str, str]
    """Parameters of every list that is read."""
    token_kind: Callable[[str], str]
    """The word before a token in the header of requests."""
    belongings: tuple[tuple[str, str], ...]
    """Lists of objects that others put into a device, with the parameter that names the device."""
    tagged: tuple[str, Mapping[str, str]] | None = None
    """Where reading tags is slow: the parameter that selects objects by tag, and those of lists without tags."""

    def table(self, name: str) -> KeptTable:
        """The table ``name``. Raises KeyError when there is none."""
        return next(table for table in self.tables if table.name == name)

    def all_told(self, listing: Listing) -> Iterator[Told]:
        """Every row of a cluster, each after those that it refers to."""
        for table in self.tables:
            if table.name in self.rows_by_table:
                yield from self.rows_by_table[table.name](listing)

    def rows(self, listing: Listing) -> Iterator[KeptRow]:
        """The same, each row whole."""
        return (pattern.filled(words).row for pattern, words in self.all_told(listing))
