"""Fills a Nautobot or a NetBox from within with the objects in rows.jsonl beside this file: minutes instead of hours.

    nautobot-server shell --interface python --command "import runpy; runpy.run_path('load.py', run_name='__main__')"
    python manage.py shell --command "import runpy; runpy.run_path('load.py', run_name='__main__')"

All objects are taken or none. What belongs to everybody (manufacturers, roles, ...) is made where it is lacking;
anything else that is there already ends it: `clusterwright sync` is for that. Every field is checked by its model, and
every object by the database. What more a model checks of an object is left out where many are inserted together: the
plan that they come from has no two devices in one unit. Nobody's request stands behind it: the change log, webhooks and
job hooks hear nothing. What the server derives of its objects, it derives afterwards, by commands of its own: the last
lines name them.

The first line of rows.jsonl names the tables; each other is [table, key, fields], where [table, key] stands for another
object. Fields are called as in the REST interface.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from decimal import Decimal
from ipaddress import ip_interface, ip_network
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
# What is inserted together: models that do nothing more on saving than what is done here, or by the commands below.
_TOGETHER = {"dcim.rack", "dcim.device", "dcim.interface", "dcim.cable", "ipam.ipaddress"} | (
    {"dcim.macaddress", "ipam.prefix"} if _NETBOX else {"ipam.ipaddresstointerface"}
)
_AFTERWARDS = (
    ("rebuild_prefixes", "calculate_cached_counts", "trace_paths --no-input", "reindex --lazy")
    if _NETBOX
    else ("trace_paths --no-input",)
)
_LATER = ("tags", "content_types")  # fields that an object has only once it is there


class Loading:
    """The objects that are there so far, by table and key."""

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        self._tables = {table["name"]: table for table in tables}
        self._there: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._prefixes: dict[tuple[Any, Any], Any] = {}
        self.count: Counter[str] = Counter()

    def take(self, name: str, rows: Iterator[Any]) -> None:
        """Makes the objects of a table, or changes those of the one that it amends."""
        table, model = self._tables[name], self._model(name)
        while batch := list(islice(rows, _AT_A_TIME)):
            if table["amends"]:
                self._amend(model, table["amends"], batch)
            else:
                self._make(name, model, batch)
            self.count[name] += len(batch)

    def _model(self, name: str) -> Any:
        app, _, plural = self._tables[name]["endpoint"].partition("/")
        wanted = plural.replace("-", "")
        for model in apps.get_app_config(app).get_models():
            if wanted in (model._meta.model_name, str(model._meta.verbose_name_plural).lower().replace(" ", "")):
                return model
        raise SystemExit(f"This server keeps no {plural}.")

    def _object(self, table: str, key: Iterable[str]) -> Any:
        place = (table, tuple(key))
        if place not in self._there:  # the server brings it along, as it does its statuses
            self._there[place] = self._model(table).objects.get(name=place[1][-1])
        return self._there[place]

    def _value(self, value: Any) -> Any:
        """A value with objects in the place of their names."""
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
        names = sorted({name for _, _, fields in rows for name in fields})
        model.objects.bulk_update([self._object(table, key) for _, key, _ in rows], names, batch_size=_AT_A_TIME)

    def _make(self, name: str, model: Any, rows: list[Any]) -> None:
        together = model._meta.label_lower in _TOGETHER
        references = [field.name for field in model._meta.fields if field.is_relation]
        made: list[tuple[Any, Mapping[str, Any]]] = []
        for _, key, fields in rows:
            plain = {field: self._value(value) for field, value in fields.items() if field not in _LATER}
            record = None
            # An AS number is there once in a whole server: another cluster's is referred to, as sync does.
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
        """Set the fields that models compute when they are saved."""
        if record._meta.label_lower == "dcim.cable":
            record._abs_length = plain["length"]
        elif _NETBOX and record._meta.label_lower == "dcim.interface":
            record._site, record._rack = record.device.site, record.device.rack
        elif "namespace" in plain:
            space, address = plain["namespace"], ip_interface(plain["address"])
            around = (ip_network((address.ip, length), strict=False) for length in range(address.max_prefixlen, -1, -1))
            record.parent = next(
                self._prefixes[space, network] for network in around if (space, network) in self._prefixes
            )

    def _finish(self, model: Any, made: list[tuple[Any, Mapping[str, Any]]]) -> None:
        """Create objects that need an existing one: tags, content types, ends of cables."""
        kind, tagged = ContentType.objects.get_for_model(model), apps.get_model("extras.TaggedItem")
        tagged.objects.bulk_create(
            tagged(content_type=kind, object_id=record.pk, tag=self._value(tag))
            for record, fields in made
            for tag in fields.get("tags", ())
        )
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
        end.objects.bulk_create(
            end(cable=cable, cable_end=side.upper(), interface=self._value(fields[f"termination_{side}_id"]))
            for cable, fields in made
            for side in "ab"
        )

    def _end_in_netbox(self, made: list[tuple[Any, Mapping[str, Any]]]) -> None:
        """Ends of cables, which are noted at the interfaces too."""
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
    """Fields of the REST interface by the names that models have for them; ends of cables are objects of their own."""
    fields = {name: value for name, value in plain.items() if "termination" not in name}
    return {
        name.removesuffix("_id"): value
        for name, value in fields.items()
        if not (name.endswith("_type") and f"{name.removesuffix('_type')}_id" in fields)
    }


def main() -> None:
    """Loads the rows of this folder, and says how many were taken of each table."""
    began = time.monotonic()
    with _ROWS.open(encoding="utf-8") as file, transaction.atomic():
        # Of 7.3 a model's decimal would be told 7.2999999999999998, and refuse it for its places.
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
