"""Reading the units for a node's adapter names, its keys, and its isolation watch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from clusterwright.hosts.linux.reader.units import unit_of

UNITS = "etc/systemd/system/"
WANTS = f"{UNITS}multi-user.target.d/"
LINKS = "etc/systemd/network/10-"
RDMA_SCRIPT, RDMA_UNIT = "usr/local/sbin/rdma-names", f"{UNITS}rdma-names.service"
RDMA_WANTS, RDMA_RULE = f"{WANTS}50-clusterwright-rdma.conf", "etc/udev/rules.d/60-rdma-persistent-naming.rules"
CREDENTIAL, CREDENTIAL_WANTS = f"{UNITS}credential-", f"{WANTS}97-credentials.conf"
WATCHED, WATCH_PROGRAM = "etc/clusterwright/isolation-watch.json", "usr/local/sbin/isolation-watch"
WATCH_UNIT, WATCH_TIMER = f"{UNITS}isolation-watch.service", f"{UNITS}isolation-watch.timer"
WATCH_WANTS = f"{WANTS}96-isolation-watch.conf"
_NAMED = re.compile(r"^ +\$step (\S+) (\S+)$", re.M)
_ORDERED = re.compile(r"^in_order (.+)$", re.M)
_LOOP = re.compile(r"^for step in aside stranger final; do\n(?: +\$step .*\n)*done$", re.M)
_CARD = re.compile(r"^Path=pci-(\S+)$", re.M)
_INTERFACE = re.compile(r"^Name=(\S+)$", re.M)
_SYSTEMCTL = re.compile(r"-?/usr/bin/systemctl --no-block (start|restart) (.+)")


@dataclass(frozen=True, slots=True)
class RdmaNames:
    """The RDMA device of each PCI address, and the devices with a checked order."""

    device_of: tuple[tuple[str, str], ...]
    ordered: tuple[tuple[str, ...], ...]


def read_rdma_names(text: str) -> RdmaNames:
    """The names in the script. Raises ValueError for a script with other steps than the known ones."""
    loop = _LOOP.search(text)
    if loop is None:
        raise ValueError("no loop sets devices aside, renames strangers and gives the names")
    return RdmaNames(
        device_of=tuple(_NAMED.findall(loop[0])),
        ordered=tuple(tuple(names.split()) for names in _ORDERED.findall(text)),
    )


@lru_cache(maxsize=1024)
def read_link(text: str) -> tuple[str, str]:
    """PCI address of a card and the name of its interface, each "" if a .link file lacks it."""
    card, name = _CARD.search(text), _INTERFACE.search(text)
    return card[1] if card is not None else "", name[1] if name is not None else ""


@lru_cache(maxsize=256)
def read_waiting(text: str) -> frozenset[str]:
    """The files awaited by a path unit."""
    unit = unit_of(text)
    keys = ("PathChanged", "PathModified", "PathExists")
    return frozenset(unit[key] for key in keys if unit.get(key))


@lru_cache(maxsize=256)
def read_started(text: str) -> frozenset[tuple[str, str]]:
    """Jobs queued by a unit without waiting: ``start`` or ``restart``, and the unit; escapes are undone."""
    started: set[tuple[str, str]] = set()
    for command in unit_of(text).get("ExecStart", "").split("\n"):
        called = _SYSTEMCTL.fullmatch(command)
        if called is not None:
            started.update((called[1], unit.replace("\\\\", "\\")) for unit in called[2].split())
    return frozenset(started)


def read_watched(text: str) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Name of the cluster, and the probed addresses and ports. Raises ValueError for unreadable text."""
    document = json.loads(text)
    try:
        return str(document["cluster"]), tuple(_tried(document["egress"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{error} is missing or of another form") from error


def _tried(rows: list[dict[str, object]]) -> Iterator[tuple[str, int]]:
    for row in rows:
        port = row["port"]
        if not isinstance(port, int):
            raise ValueError(f"{port!r} is no port")
        yield str(row["address"]), port
