"""Reading the expectations of a node's check, and the node's files with the same facts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from clusterwright.hosts.linux.reader.units import LOCAL_TYPES, unit_of

LIMITS, OWN = "etc/clusterwright/health.json", "etc/clusterwright/health-node.json"
SETTINGS = "etc/sysctl.d/90-clusterwright.conf"
_UNITS = "etc/systemd/system"
TIMER, SERVICE = f"{_UNITS}/node-health.timer", f"{_UNITS}/node-health.service"
WANTS = f"{_UNITS}/multi-user.target.d/"
SERVICES = (f"{WANTS}90-clusterwright.conf", f"{WANTS}92-slurm.conf")
"""The drop-ins that name the services of a node."""
CHECK_WANTS = f"{WANTS}95-node-health.conf"
PROGRAMS = ("usr/local/sbin/node-health", "usr/local/sbin/node-health-drain", "usr/local/sbin/node-health-prolog")
MOUNTS = re.compile(rf"{_UNITS}/[^/]+\.mount")
_SECONDS = re.compile(r"(\d+)(s|min)?")
_PER_UNIT = {None: 1, "s": 1, "min": 60}


def read_expected(text: str) -> Mapping[str, Any]:
    """The expectations, values by key and those of objects by ``key.key``. Raises ValueError for unreadable text.

    Objects below the second level stay as they are.
    """
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    flat: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            flat[key] = {}
            flat.update({f"{key}.{name}": inner for name, inner in value.items()})
        else:
            flat[key] = value
    return flat


def read_settings(text: str) -> Mapping[str, str]:
    """Kernel settings of sysctl.d(5) by dotted name, the last of each."""
    settings = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith(("#", ";")):
            settings[name.strip().removeprefix("-")] = value.strip()
    return settings


@lru_cache(maxsize=64)
def read_wanted(text: str) -> frozenset[str]:
    """The units started by a drop-in of multi-user.target."""
    unit = unit_of(text)
    return frozenset(f"{unit.get('Wants', '')} {unit.get('Requires', '')}".split())


@lru_cache(maxsize=1024)
def read_mount(text: str) -> tuple[str, str, str] | None:
    """Mount point, source and type of a .mount unit; None for a file system of the node's own."""
    unit = unit_of(text)
    if unit.get("Type") in LOCAL_TYPES:
        return None
    return unit.get("Where", ""), unit.get("What", ""), unit.get("Type", "")


def read_seconds(text: str) -> int | None:
    """A time span of systemd.time(7) in seconds; None for one of another form."""
    match = _SECONDS.fullmatch(text)
    return int(match[1]) * _PER_UNIT[match[2]] if match is not None else None
