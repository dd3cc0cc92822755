"""The objects that a source of truth keeps: a row each, referring to each other by what people call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clusterwright.source_of_truth.listing import Listing

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
    """A kind of object.

    ``key`` are the fields that make a row's key, each with the table that it refers to, or None; ``locate`` finds the
    key of a record where that is not enough. ``shared`` objects belong to everybody: they are made where they are
    lacking, and never changed or taken away. ``within`` says which objects are looked at: a parameter of the interface,
    and the table whose rows it takes, or None for the rows' own values of the field of that name; all without it.
    ``amends`` is the table whose objects get further fields, once what these refer to is there. ``owner`` is the field
    whose object is ours where this one is: what stands at a device of ours under a name that is planned is ours too.
    ``forgets_tags`` says that the server answers with the tags of what it makes, and does not keep them.
    """

    name: str
    endpoint: str
    key: tuple[tuple[str, str | None], ...] = (("name", None),)
    within: tuple[str, str | None] | None = ("name", None)
    shared: bool = False
    locate: Callable[[Record, Lookup], Key | None] | None = None
    amends: str | None = None
    owner: tuple[str, str] | None = None
    forgets_tags: bool = False


Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A kind of server: its tables in the order in which they can be filled, what goes into them, and as which files.

    ``files`` gives the lines of each file for the rows. ``query`` goes with every list that is read; ``token_kind`` is
    the word before a token. ``belongings`` are lists of what else people put into a device, with their parameter.
    """

    name: str
    title: str
    tables: tuple[KeptTable, ...]
    rows: Callable[[Listing], Iterator[KeptRow]]
    files: Callable[[Iterable[KeptRow]], Mapping[str, Iterable[str]]]
    query: Mapping[str, str]
    token_kind: Callable[[str], str]
    belongings: tuple[tuple[str, str], ...]

    def table(self, name: str) -> KeptTable:
        """The table ``name``. Raises KeyError when there is none."""
        return next(table for table in self.tables if table.name == name)
