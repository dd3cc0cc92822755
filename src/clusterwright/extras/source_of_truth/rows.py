"""Objects of a source of truth as rows with references by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clusterwright.extras.source_of_truth.listing import Listing

Key = tuple[str, ...]


class Ref(NamedTuple):
    """A reference to the object of ``table`` with ``key``."""

    table: str
    key: Key


class KeptRow(NamedTuple):
    """An object: its natural key, and its fields by the names of the REST interface; values may be a Ref, or many."""

    table: str
    key: Key
    fields: Mapping[str, Any]


PLACEHOLDERS = tuple(map(chr, range(0xFDD0, 0xFDE0)))
"""Stand for the values of a row in its pattern: Unicode noncharacters, so no name contains them."""
Values = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RowPattern:
    """Rows of a table that differ in a few values only: one of them, with a placeholder for each value.

    A row is decided and written as text once a pattern: 24,576 GPUs have 800,000 rows of some hundred patterns.
    Measured there, ``inventory --format netbox`` takes 4 s of processor time by patterns and 9 s row by row;
    ``--format nautobot`` 5 s and 11 s. ``further`` are cells of the import file without a field of the row.
    """

    row: KeptRow
    further: Mapping[str, str] = field(default_factory=dict)

    def filled(self, values: Values) -> RowPattern:
        """The pattern with ``values`` in place of the placeholders."""
        if not values:
            return self
        value_by_code = str.maketrans(dict(zip(PLACEHOLDERS, values, strict=False)))
        table, key, fields = self.row
        row_fields = dict(fields)
        for name in self._varying_fields:
            row_fields[name] = _filled(fields[name], value_by_code)
        row = KeptRow(table, tuple(part.translate(value_by_code) for part in key), row_fields)
        return RowPattern(row, {name: cell.translate(value_by_code) for name, cell in self.further.items()})

    @cached_property
    def _varying_fields(self) -> tuple[str, ...]:
        """The fields with placeholders; all others are shared by every row."""
        return tuple(name for name, value in self.row.fields.items() if _filled(value, _REMOVED) != value)


_REMOVED = str.maketrans(dict.fromkeys(PLACEHOLDERS, ""))


def _filled(value: Any, value_by_code: dict[int, str]) -> Any:
    if isinstance(value, str):
        return value.translate(value_by_code)
    if isinstance(value, Ref):
        return Ref(value.table, tuple(part.translate(value_by_code) for part in value.key))
    if isinstance(value, tuple):
        return tuple(_filled(item, value_by_code) for item in value)
    if isinstance(value, dict):
        return {name: _filled(item, value_by_code) for name, item in value.items()}
    return value


PatternRow = tuple[RowPattern, Values]
"""A row: its pattern, and the values for it."""


def single_row(row: KeptRow) -> PatternRow:
    """A row with a pattern of its own."""
    return RowPattern(row), ()


def cable_key(first: Key, second: Key) -> Key:
    """The key of a cable between two interfaces: both keys in the order of their names."""
    return (*min(first, second), *max(first, second))


Record = Mapping[str, Any]
"""An object in a server's answer."""
Lookup = Callable[[str, Any], Key | None]
"""The key of an object by table and id; None for an object outside of the plan."""


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A kind of object."""

    name: str
    endpoint: str
    key: tuple[tuple[str, str | None], ...] = (("name", None),)
    """The fields of a row's key, each with the table of its reference, or None."""
    within: tuple[str, str | None] | None = ("name", None)
    """Limits the list: a parameter of the interface, and the table of the rows to take its values from.

    None in place of the table stands for the values of the rows' field of that name; None alone lists all objects.
    """
    shared: bool = False
    """Objects in use by several sites: created where missing, never changed or deleted."""
    locate: Callable[[Record, Lookup], Key | None] | None = None
    """The key of a record where the fields of ``key`` do not give it."""
    amends: str | None = None
    """The table of objects with further fields, set once the objects that these refer to exist."""
    owner: tuple[str, str] | None = None
    """Field and table of an object's owner: a planned object of an owner of the cluster belongs to the cluster too."""
    forgets_tags: bool = False
    """The server answers with the tags of a new object, and does not store them."""
    set_once: tuple[str, ...] = ()
    """Fields set on a new object only."""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A source of truth: its tables, their rows, and its import files."""

    name: str
    title: str
    tables: tuple[KeptTable, ...]
    """In the order of creation: an object refers to earlier tables only."""
    rows_by_table: Mapping[str, Callable[[Listing], Iterator[PatternRow]]]
    files: Callable[[Listing], Mapping[str, Iterator[str]]]
    """Lines of each file."""
    query: Mapping[str, str]
    """Parameters of every request for a list."""
    token_kind: Callable[[str], str]
    """The word before a token in the header of requests."""
    belongings: tuple[tuple[str, str], ...]
    """Lists of objects in a device outside of the plan, with the parameter for the device."""
    tagged: tuple[str, Mapping[str, str]] | None = None
    """Where reading tags is slow: the parameter that selects objects by tag, and those of lists without tags."""

    def pattern_rows(self, listing: Listing) -> Iterator[PatternRow]:
        """Every row of a cluster, in the order of the tables."""
        for table in self.tables:
            if table.name in self.rows_by_table:
                yield from self.rows_by_table[table.name](listing)

    def rows(self, listing: Listing) -> Iterator[KeptRow]:
        """Every row of a cluster with its values filled in."""
        for pattern, values in self.pattern_rows(listing):
            yield pattern.filled(values).row
