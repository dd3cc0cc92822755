"""Differences of a server from the plan: objects to create, to change and to delete.

Only objects with the cluster's tag are changed or deleted. Another's object under a planned name is referred to, and
reported where it differs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.extras.source_of_truth.rows import KeptRow, Key, Ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.extras.source_of_truth.client import Client
    from clusterwright.extras.source_of_truth.rows import KeptTable, Record, ServerKind

MISSING = object()  # the id of an object not created yet
_CASELESS = frozenset({"wwn", "mac_address"})


class NotThereError(Exception):
    """A row refers to a missing object."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref.table} {' '.join(ref.key)} is missing")


class Field(NamedTuple):
    """A different field: the server's value and the planned one, as text."""

    name: str
    was: str
    planned: str


@dataclass(frozen=True, slots=True)
class RowChange:
    """``row`` is created where ``record`` is None, otherwise changed in ``fields``; without ``fields`` it stays."""

    row: KeptRow
    record: Record | None
    fields: tuple[Field, ...] = ()


@dataclass
class ServerDifference:
    """By table, in the system's order: rows to create and to change, different rows of others, objects to delete."""

    make: dict[str, list[RowChange]] = field(default_factory=lambda: defaultdict(list))
    change: dict[str, list[RowChange]] = field(default_factory=lambda: defaultdict(list))
    others: dict[str, list[RowChange]] = field(default_factory=lambda: defaultdict(list))
    take: dict[str, list[tuple[Key, Any]]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[str, list[tuple[Key, str]]] = field(default_factory=lambda: defaultdict(list))

    def __bool__(self) -> bool:
        return any(any(rows_by_table.values()) for rows_by_table in (self.make, self.change, self.take))


class ServerObjects:
    """Objects of a server: their ids by table and key, and whether they belong to the cluster."""

    def __init__(
        self,
        system: ServerKind,
        client: Client,
        rows: Iterable[KeptRow],
        tag: str,
        further: frozenset[str] = frozenset(),
    ) -> None:
        self._further = further
        self.system, self.client, self._tag = system, client, tag
        self.rows: dict[str, list[KeptRow]] = defaultdict(list)
        for row in rows:
            self.rows[row.table].append(row)
        self.ids: dict[str, dict[Key, Any]] = defaultdict(dict)
        self.records: dict[str, dict[Key, Record]] = defaultdict(dict)
        self._keys: dict[str, dict[Any, Key]] = defaultdict(dict)
        self._ours: dict[str, set[Any]] = defaultdict(set)
        self.renamed: dict[Key, Key] = {}
        """Devices of the cluster renamed on the server: the planned name, and the server's."""
        for table in system.tables:
            if table.amends is None:
                self._read(table)

    def id_of(self, ref: Ref) -> Any:
        """The id of a reference's target, or MISSING."""
        return self.ids[ref.table].get(ref.key, MISSING)

    def key_of(self, table: str, identity: Any) -> Key | None:
        """The key of an object by its id; None for one not read."""
        return self._keys[table].get(identity)

    def is_ours(self, table: str, identity: Any) -> bool:
        """Whether an object carries the cluster's tag."""
        return identity in self._ours[table]

    def made(self, row: KeptRow, identity: Any) -> None:
        """Record the id of a new object."""
        self.ids[row.table][row.key] = identity

    def payload(self, value: Any) -> Any:
        """A value with ids in place of references. Raises NotThereError for a missing object."""
        if isinstance(value, Ref):
            identity = self.id_of(value)
            if identity is MISSING:
                raise NotThereError(value)
            return identity
        if isinstance(value, tuple):
            return [self.payload(item) for item in value]
        if isinstance(value, dict):
            return {name: self.payload(item) for name, item in value.items()}
        return value

    def _read(self, table: KeptTable) -> None:
        keep = {"id", "tags"}.union(self._further, *(row.fields for row in self.rows[table.name]))
        if any(other_table.amends == table.name for other_table in self.system.tables):
            keep |= set(_AMENDED)
        tag = self.ids["tags"].get((self._tag,), MISSING)
        for record in self._list(table):
            key = self._key(table, record)
            if key is None:
                continue
            identity = record["id"]
            self.ids[table.name][key] = identity
            self._keys[table.name][identity] = key
            self.records[table.name][key] = {name: value for name, value in record.items() if name in keep}
            owner = None if table.owner is None else identity_of(record.get(table.owner[0]))
            if tag in map(identity_of, record.get("tags") or ()) or (
                "tags" not in record and table.owner is not None and self.is_ours(table.owner[1], owner)
            ):
                self._ours[table.name].add(identity)
        if table.name == "devices":
            self._recognize_renamed()

    def _recognize_renamed(self) -> None:
        """Match a device of the cluster with an unplanned name to the missing one in its place.

        Otherwise it would be deleted, with everything entered about it, and created anew.
        """
        records = self.records["devices"]
        missing_by_place: dict[tuple[Any, float, Any], KeptRow] = {}
        for row in self.rows["devices"]:
            if row.key not in records and "position" in row.fields:
                rack, device_type = self.id_of(row.fields["rack"]), self.id_of(row.fields["device_type"])
                missing_by_place[rack, float(row.fields["position"]), device_type] = row
        if not missing_by_place:
            return
        planned = {row.key for row in self.rows["devices"]}
        for key, record in list(records.items()):
            if key in planned or not record.get("position") or not self.is_ours("devices", record["id"]):
                continue
            place = (identity_of(record["rack"]), float(record["position"]), identity_of(record["device_type"]))
            planned_row = missing_by_place.pop(place, None)
            if planned_row is not None:
                self.renamed[planned_row.key] = key
                records[planned_row.key] = records.pop(key)
                self.ids["devices"][planned_row.key] = self.ids["devices"].pop(key)
                self._keys["devices"][record["id"]] = planned_row.key

    def _list(self, table: KeptTable) -> Iterator[Record]:
        """The objects of a table within the plan's place.

        Where reading tags is slow, tagged objects are read by a query for the tag, without their tags.
        """
        query = self._query(table)
        if query is None:
            return
        common, rows = self.system.query, self.rows[table.name]
        tag = self.ids["tags"].get((self._tag,))
        if self.system.tagged is None or tag is None or not rows or "tags" not in rows[0].fields:
            yield from self.client.read(table.endpoint, [*common.items(), *query])
            return
        parameter, cheaper = self.system.tagged
        tagged = {**common, **cheaper, parameter: self._tag}
        for record in self.client.read(table.endpoint, [*tagged.items(), *query]):
            yield {**record, "tags": [{"id": tag}]}
        others = {**common, f"{parameter}__n": self._tag}
        yield from self.client.read(table.endpoint, [*others.items(), *query])

    def _query(self, table: KeptTable) -> list[tuple[str, str]] | None:
        """Parameters to select the objects to read; None where the server has none of them."""
        if table.within is None:
            return []
        parameter, reference_table = table.within
        if parameter == "tag":
            return [("tag", self._tag)] if (self._tag,) in self.ids["tags"] else None
        if reference_table is None:
            values = {str(row.fields[parameter]) for row in self.rows[table.name]}
        else:
            ids = [self.id_of(Ref(reference_table, row.key)) for row in self.rows[reference_table]]
            values = {str(identity) for identity in ids if identity is not MISSING}
        return [(parameter, value) for value in sorted(values)] if values else None

    def _key(self, table: KeptTable, record: Record) -> Key | None:
        if table.locate is not None:
            return table.locate(record, self.key_of)
        parts: list[str] = []
        for name, reference_table in table.key:
            value = record.get(name)
            if reference_table is None:
                parts.append(str(value))
                continue
            other_key = self.key_of(reference_table, identity_of(value))
            if other_key is None:
                return None
            parts += other_key
        return tuple(parts)


# Fields of rows in tables that amend another, kept for comparison.
_AMENDED = ("primary_ip4", "primary_ip6", "oob_ip", "primary_mac_address", "lag")


def difference(server: ServerObjects, *, whole: bool) -> ServerDifference:
    """The difference to apply. Nothing is deleted unless the ``whole`` cluster is listed."""
    changes = ServerDifference()
    for table in server.system.tables:
        records = server.records[table.amends or table.name]
        rows = server.rows[table.name]
        for row in rows:
            record = records.get(row.key)
            if record is None:
                changes.make[table.name].append(RowChange(row, None))
                continue
            if table.shared:
                continue
            fields = tuple(_differing(server, table, row, record))
            is_ours = server.is_ours(table.amends or table.name, record["id"]) or _stands_in_ours(server, table, row)
            if fields:
                changed = changes.change if is_ours else changes.others
                changed[table.name].append(RowChange(row, record, fields))
        if whole and not table.shared and table.amends is None:
            planned = {row.key for row in rows}
            for key, record in records.items():
                if key not in planned and server.is_ours(table.name, record["id"]):
                    changes.take[table.name].append((key, record["id"]))
    _keep_what_holds_others(server, changes)
    return changes


def _stands_in_ours(server: ServerObjects, table: KeptTable, row: KeptRow) -> bool:
    if table.owner is None:
        return False
    ref = row.fields[table.owner[0]]
    return server.is_ours(ref.table, server.id_of(ref))


def _differing(server: ServerObjects, table: KeptTable, row: KeptRow, record: Record) -> Iterator[Field]:
    identifying = {name for name, _ in table.key}
    for name, value in row.fields.items():
        is_key = name in identifying and not (table.name == "devices" and row.key in server.renamed)
        if is_key or name in table.set_once or (table.locate is not None and "termination" in name):
            continue
        if name not in record and isinstance(value, Ref):
            continue  # part of a key and absent from the answer, such as an address's namespace
        current = record.get(name)
        if not _same(server, name, value, current):
            yield Field(name, _server_text(server, value, current), _planned_text(value))


def _same(server: ServerObjects, name: str, value: Any, current: Any) -> bool:
    if isinstance(value, Ref):
        return bool(server.id_of(value) == identity_of(current))
    if isinstance(value, tuple):  # tags: others may stand beside the cluster's
        return {server.id_of(ref) for ref in value} <= set(map(identity_of, current or ()))
    if isinstance(current, dict):
        current = current.get("value")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(current) == float(value)
        except (TypeError, ValueError):
            return False
    if name in _CASELESS and isinstance(current, str):
        return bool(current.casefold() == str(value).casefold())
    return bool(value == current)


def _planned_text(value: Any) -> str:
    if isinstance(value, Ref):
        return " ".join(value.key)
    if isinstance(value, tuple):
        return ", ".join(map(_planned_text, value))
    return str(value)


def _server_text(server: ServerObjects, value: Any, current: Any) -> str:
    """The server's ``current`` value of a field with the planned ``value``."""
    if current in (None, "", []):
        return "none"
    if isinstance(value, Ref):
        key = server.key_of(value.table, identity_of(current))
        return "another" if key is None else " ".join(key)
    if isinstance(current, dict):
        return str(current.get("value"))
    if isinstance(current, list):
        return ", ".join(str(item.get("name", item.get("display", "another"))) for item in current)
    return str(current)


def identity_of(value: Any) -> Any:
    """The id of an object, from the whole object or from the id alone."""
    return value.get("id") if isinstance(value, dict) else value


def _with_foreign_ports(server: ServerObjects, deleted: Mapping[Key, Any]) -> dict[Key, str]:
    """Devices of ``deleted`` with interfaces or cables of others, each with the reason to keep it."""
    reasons: dict[Key, str] = {}
    for key, record in server.records["interfaces"].items():
        if key[:1] in deleted and not server.is_ours("interfaces", record["id"]):
            reasons.setdefault(key[:1], f"others made its interface {key[1]}")
    for key, record in server.records["cables"].items():
        for device in (key[:1], key[2:3]):
            if device in deleted and not server.is_ours("cables", record["id"]):
                reasons.setdefault(device, "others laid a cable to it")
    return reasons


def _keep_what_holds_others(server: ServerObjects, changes: ServerDifference) -> None:
    """Keep interfaces with others' cables and addresses, and devices with any object of others.

    A server deletes the dependent objects of a device together with it, also those of others.
    """
    deleted = dict(changes.take["devices"])
    if not deleted:
        return
    reasons = _with_foreign_ports(server, deleted)
    key_by_id = {identity: key for key, identity in deleted.items()}
    for endpoint, parameter in server.system.belongings:
        reason = f"others put something into it ({endpoint.rpartition('/')[2]})"
        query = [(parameter, str(identity)) for identity in key_by_id]
        for record in server.client.read(endpoint, query):
            parent = record.get("device") or record.get("parent_object_id") or record.get("parent")
            device_key = key_by_id.get(identity_of(parent))
            # An object without a readable parent may stand in any of the devices.
            holders = (device_key,) if device_key else key_by_id.values()
            for holder in holders:
                reasons.setdefault(holder, reason)
    for name in ("devices", "interfaces"):
        changes.kept[name] = [(key, reasons[key[:1]]) for key, _ in changes.take[name] if key[:1] in reasons]
        changes.take[name] = [row for row in changes.take[name] if row[0][:1] not in reasons]
