"""Vendors' descriptions of a machine's ports for SONiC, used unchanged.

``platform.json`` has cages with lanes, indexes and breakouts, ``hwsku.json`` beside it the cages of a SKU with their
initial modes, ``port_config.ini`` only ports (sonic-net/sonic-buildimage, device/VENDOR/PLATFORM; read by portconfig.py
in the same way).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path as FilePath
from typing import Any

from clusterwright.spec.hardware.platform_ports import MachinePorts
from clusterwright.spec.hardware.platforms import BadPlatform, Cage, of_cages
from clusterwright.spec.text.source import read_text

# Connectors by a cage's number of lanes; the files contain nothing but the electrical width.
_CONNECTORS = {1: "sfp28", 2: "sfp56", 4: "qsfp28", 8: "osfp"}
_COLUMNS = ("name", "lanes", "alias", "index", "speed")
_PORT = "Ethernet"


def read_platform(name: str, files: Sequence[FilePath]) -> MachinePorts:
    """The platform ``name`` from platform.json, with hwsku.json or without, or from port_config.ini.

    Raises BadPlatform for other or contradictory files, SpecError for unreadable ones.
    """
    documents: dict[str, Any] = {}
    for file in files:
        text = read_text(file, str(file))
        kind, content = ("ports", text) if file.suffix == ".ini" else _json(file, text)
        if kind in documents:
            raise BadPlatform(f"{file}: a second file of the same kind")
        documents[kind] = content
    if set(documents) == {"ports"}:
        cages = list(_rows(documents["ports"]))
    elif "platform" in documents and "ports" not in documents:
        cages = list(_cages(documents["platform"], documents.get("sku")))
    else:
        raise BadPlatform(f"{files[0]}: name platform.json, with hwsku.json or without, or port_config.ini")
    if not cages:
        raise BadPlatform(f"{files[0]}: has no port")
    machine = of_cages(name, list(_blocks(cages)))
    ports = dict(machine.ports)
    if "ports" in documents:  # port_config.ini has a fixed mode for each port: no breakout at run time
        ports = {key: replace(port, breakout="") for key, port in ports.items()}
    return replace(machine, describe=partial(dict, ports))


def _json(file: FilePath, text: str) -> tuple[str, Mapping[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPlatform(f"{file} is not JSON: {error}") from None
    interfaces = document.get("interfaces") if isinstance(document, dict) else None
    if not isinstance(interfaces, dict) or not interfaces:
        raise BadPlatform(f"{file} has no `interfaces`, which platform.json and hwsku.json list")
    for name, entry in interfaces.items():
        if not isinstance(entry, dict) or not name.removeprefix(_PORT).isdecimal() or not name.startswith(_PORT):
            raise BadPlatform(f"{file}: {name} is no port such as Ethernet0 with what it has")
    lists_lanes = ["lanes" in entry for entry in interfaces.values()]
    if all(lists_lanes):
        return "platform", interfaces
    if not any(lists_lanes) and all("default_brkout_mode" in entry for entry in interfaces.values()):
        return "sku", interfaces
    raise BadPlatform(f"{file} has neither `lanes` for every interface nor `default_brkout_mode` for every one")


def _cages(platform: Mapping[str, Any], sku: Mapping[str, Any] | None) -> Iterator[Cage]:
    """The cages, only those of the SKU if there is one, with the initial breakout first."""
    for name, entry in platform.items():
        if sku is not None and name not in sku:
            continue
        breakouts = entry.get("breakout_modes")
        if not isinstance(breakouts, dict) or not all(map(_are_aliases, breakouts.values())):
            raise BadPlatform(f"{name} has no `breakout_modes` with a list of aliases for each")
        if sku is not None:
            first = sku[name]["default_brkout_mode"]
            if first not in breakouts:
                raise BadPlatform(f'{name} starts as "{first}", which its `breakout_modes` do not list')
            breakouts = {first: breakouts[first], **breakouts}
        yield Cage(
            name=name,
            index=_numbers(name, "index", entry)[0],
            lanes=tuple(_numbers(name, "lanes", entry)),
            breakouts=breakouts,
        )


def _are_aliases(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(alias, str) for alias in value)


def _rows(text: str) -> Iterator[Cage]:
    """The ports of port_config.ini, each in the one mode of its row; the heading names the columns."""
    columns: Sequence[str] = _COLUMNS
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#"):
            heading = line.lstrip("# ").split()
            columns = heading if "name" in heading and "lanes" in heading else columns
        elif words:
            row = dict(zip(columns, words, strict=False))
            name = row.get("name", "")
            if not name.removeprefix(_PORT).isdecimal() or not row.get("speed", "").isdecimal() or "index" not in row:
                heading_text = f"its heading has {', '.join(columns)}"
                raise BadPlatform(f'"{" ".join(words)}" is no port with its lanes, index and speed: {heading_text}')
            mode = f"1x{int(row['speed']) // 1000}G"
            lanes = tuple(_numbers(name, "lanes", row))
            yield Cage(
                name=name,
                index=_numbers(name, "index", row)[0],
                lanes=lanes,
                breakouts={mode: (row.get("alias", name),)},
            )


def _numbers(name: str, key: str, entry: Mapping[str, Any]) -> list[int]:
    words = str(entry.get(key, "")).split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise BadPlatform(f"{name} has no `{key}` that are numbers joined by commas")
    return [int(word) for word in words]


def _blocks(cages: Sequence[Cage]) -> Iterator[tuple[str, str, list[Cage]]]:
    """Blocks of cages with the same lanes and breakouts, in front-panel order, named after their connector."""
    counts: dict[str, int] = {}
    lanes: Counter[int] = Counter()  # port_config.ini lists the ports of shared cages
    for cage in cages:
        lanes[cage.index] += len(cage.lanes)
    ordered = sorted(cages, key=lambda cage: int(cage.name.removeprefix(_PORT)))
    for key, equal in groupby(ordered, key=lambda cage: (lanes[cage.index], len(cage.lanes), tuple(cage.breakouts))):
        connector = _CONNECTORS.get(key[0], "osfp")
        counts[connector] = counts.get(connector, 0) + 1
        name = f"{connector}-{counts[connector]}" if counts[connector] > 1 else connector
        yield name, connector, list(equal)
