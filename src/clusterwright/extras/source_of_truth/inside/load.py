"""Fill an empty Nautobot or NetBox from within, with the objects in rows.jsonl: minutes instead of hours.

    nautobot-server shell --interface python --command "import runpy; runpy.run_path('load.py', run_name='__main__')"
    python manage.py shell --command "import runpy; runpy.run_path('load.py', run_name='__main__')"

All objects are created or none. Objects in use by several sites (manufacturers, roles, ...) are created where missing;
any other object that exists already ends the program: use `clusterwright sync` instead. Each model validates its
fields, and the database each object. Further validation by the model is skipped for objects inserted in batches: the
plan has no two devices in one unit. Without a request there are no entries in the change log, and no webhooks or job
hooks run. Derived data is computed afterwards by the server's own commands, printed at the end.

The first line of rows.jsonl lists the tables. Each other line is [table, key, fields]; inside of fields, [table, key]
refers to another object. Fields have the names of the REST interface.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from decimal import Decimal
from ipaddress import IPv4Interface, IPv6Interface, ip_interface, ip_network
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_AT_A_TIME = 1000
_ROWS = Path("rows.jsonl")
_NETBOX = not apps.is_installed("nautobot.core")
# Inserted in batches: models without further work on saving than the work here and in the commands below.
_TOGETHER = {"dcim.rack", "dcim.device", "dcim.interface", "dcim.cable", "ipam.ipaddress"} | (
    {"dcim.macaddress", "ipam.prefix"} if _NETBOX else {"ipam.ipaddresstointerface"}
)
_AFTERWARDS = (
    ("rebuild_prefixes", "calculate_cached_counts", "trace_paths --no-input", "reindex --lazy")
    if _NETBOX
    else ("trace_paths --no-input",)
)
_LATER = ("tags", "content_types")  # these need the id of an existing object


class Loading:
    """The objects created so far, by table and key."""

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        self._tables = {table["name"]: table for table in tables}
        self._there: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._prefixes: dict[tuple[Any, Any], Any] = {}
        self.count: Counter[str] = Counter()

    def take(self, name: str, rows: Iterator[Any]) -> None:
        """Create the objects of a table, or change those of the amended table."""
        table, model = self._tables[name], self._model(name)
        while batch := list(islice(rows, _AT_A_TIME)):
            if table["amends"]:
                self._amend(model, table["amends"], batch)
            else:
                self._make(name, model, batch)
            self.count[name] += len(batch)

    def _model(self, name: str) -> Any:
        app, _, plural = self._tables[name]["endpoint"].partition("/")
        model_name = plural.replace("-", "")
        for model in apps.get_app_config(app).get_models():
            if model_name in (model._meta.model_name, str(model._meta.verbose_name_plural).lower().replace(" ", "")):
                return model
        raise SystemExit(f"This server keeps no {plural}.")

    def _object(self, table: str, key: Iterable[str]) -> Any:
        place = (table, tuple(key))
        if place not in self._there:  # predefined by the server, such as a status
            self._there[place] = self._model(table).objects.get(name=place[1][-1])
        return self._there[place]

    def _value(self, value: Any) -> Any:
        """A value with objects in place of their names."""
        if isinstance(value, dict):
            return {name: self._value(item) for name, item in value.items()}
        if not isinstance(value, list):
            return value
        return self._object(*value) if isinstance(value[0], str) else [self._value(item) for item in value]

    def _amend(self, model: Any, table: str, rows: list[Any]) -> None:
        for _, key, fields in rows:
            record = self._object(table, key)
            for name, value in fields.items():
                setattr(record, name, self._value(value))
        names = sorted(set().union(*(fields for _, _, fields in rows)))
        model.objects.bulk_update([self._object(table, key) for _, key, _ in rows], names, batch_size=_AT_A_TIME)

    def _make(self, name: str, model: Any, rows: list[Any]) -> None:
        together = model._meta.label_lower in _TOGETHER
        references = [field.name for field in model._meta.fields if field.is_relation]
        made: list[tuple[Any, Mapping[str, Any]]] = []
        for _, key, fields in rows:
            plain = {field: self._value(value) for field, value in fields.items() if field not in _LATER}
            record = None
            # An AS number exists once on a server: another cluster's is referred to, as `sync` does.
            if self._tables[name]["shared"] or name == "asns":
                record = model.objects.filter(**{field: plain[field] for field in self._tables[name]["key"]}).first()
            if record is None:
                record = model(**_for_model(plain))
                try:
                    if together:
                        self._note(record, plain)
                        record.clean_fields(exclude=references)
                    else:
                        record.full_clean()
                        record.save()
                except ValidationError as error:
                    raise ValidationError(f"{' '.join(key)}: {error}") from error
            self._there[name, tuple(key)] = record
            made.append((record, fields))
        if together:
            model.objects.bulk_create(record for record, _ in made)
        self._finish(model, made)

    def _note(self, record: Any, plain: Mapping[str, Any]) -> None:
        """Set the fields that a model computes on saving."""
        if record._meta.label_lower == "dcim.cable":
            record._abs_length = plain["length"]
        elif _NETBOX and record._meta.label_lower == "dcim.interface":
            record._site, record._rack = record.device.site, record.device.rack
        elif "namespace" in plain:
            space, address = plain["namespace"], ip_interface(plain["address"])
            record.parent = self._prefix_around(space, address)

    def _prefix_around(self, space: Any, address: IPv4Interface | IPv6Interface) -> Any:
        """The longest prefix of a namespace around an address. Raises KeyError without one."""
        for length in range(address.max_prefixlen, -1, -1):
            network = ip_network((address.ip, length), strict=False)
            if (space, network) in self._prefixes:
                return self._prefixes[space, network]
        raise KeyError(f"no prefix around {address}")

    def _finish(self, model: Any, made: list[tuple[Any, Mapping[str, Any]]]) -> None:
        """Create the objects that refer to ``made``: tags, content types, ends of cables."""
        kind, tagged = ContentType.objects.get_for_model(model), apps.get_model("extras.TaggedItem")
        assignments: list[Any] = []
        for record, fields in made:
            tags = map(self._value, fields.get("tags", ()))
            assignments += [tagged(content_type=kind, object_id=record.pk, tag=tag) for tag in tags]
        tagged.objects.bulk_create(assignments)
        for record, fields in made:
            if "content_types" in fields:
                labels = (field.split(".") for field in fields["content_types"])
                record.content_types.add(*(ContentType.objects.get_by_natural_key(*label) for label in labels))
            if "namespace" in fields and "prefix" in fields:
                self._prefixes[self._value(fields["namespace"]), ip_network(fields["prefix"])] = record
        if model._meta.label_lower == "dcim.cable":
            (self._end_in_netbox if _NETBOX else self._end_in_nautobot)(made)

    def _end_in_nautobot(self, made: list[tuple[Any, Mapping[str, Any]]]) -> None:
        end = apps.get_model("dcim.CableToCableTermination")
        ends: list[Any] = []
        for cable, fields in made:
            for side in "ab":
                interface = self._value(fields[f"termination_{side}_id"])
                ends.append(end(cable=cable, cable_end=side.upper(), interface=interface))
        end.objects.bulk_create(ends)

    def _end_in_netbox(self, made: list[tuple[Any, Mapping[str, Any]]]) -> None:
        """Create the ends of cables, and set them on the interfaces too."""
        end, interfaces = apps.get_model("dcim.CableTermination"), []
        ends: list[Any] = []
        for cable, fields in made:
            for side in "ab":
                (termination,) = self._value(fields[f"{side}_terminations"])
                interface = termination["object_id"]
                interface.cable, interface.cable_end = cable, side.upper()
                interfaces.append(interface)
                ends.append(end(cable=cable, cable_end=side.upper(), termination=interface))
                ends[-1].cache_related_objects()
        end.objects.bulk_create(ends)
        type(interfaces[0]).objects.bulk_update(interfaces, ["cable", "cable_end"], batch_size=_AT_A_TIME)


def _for_model(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the REST interface by the names of the model, without ends of cables: these are separate objects."""
    fields = {name: value for name, value in plain.items() if "termination" not in name}
    return {
        name.removesuffix("_id"): value
        for name, value in fields.items()
        if not (name.endswith("_type") and f"{name.removesuffix('_type')}_id" in fields)
    }


def main() -> None:
    """Load the rows of this folder, and print a count for each table."""
    began = time.monotonic()
    with _ROWS.open(encoding="utf-8") as file, transaction.atomic():
        # As a float, 7.3 would become Decimal 7.2999999999999998, which a model refuses for its decimal places.
        rows = (json.loads(line, parse_float=Decimal) for line in file)
        loading = Loading(next(rows))
        try:
            for name, table_rows in groupby(rows, key=lambda row: str(row[0])):
                loading.take(name, table_rows)
                print(f"{name}: {loading.count[name]:,} ({time.monotonic() - began:.0f} s)", flush=True)
        except (IntegrityError, ValidationError) as error:
            raise SystemExit(
                f"Nothing is loaded; use `clusterwright sync` where something is. {name}: {error}"
            ) from error
    print(f"{loading.count.total():,} rows are taken. Let the server derive the rest, with its own commands:")
    for command in _AFTERWARDS:
        print(f"  {command}", flush=True)


if __name__ == "__main__":
    main()
