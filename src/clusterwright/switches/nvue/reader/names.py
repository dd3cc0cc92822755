"""Keys of NVUE for several objects at once: lists and ranges of interfaces and of numbers.

NVUE prints a stem once (`swp1,4-11,28`, `vlan200,300`; NVIDIA/enterprise-ras, spectrum-era, exported configurations of
5.13), and from 5.18 on ranges of cages with ranges of their parts (`swp1-33s0-1`). A key in none of these forms is
refused: half of a name read would leave ports unseen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain, product

# Where interfaces and numbers are named, a `*` for any name. Everywhere else a key is one name.
_INTERFACES = (
    "interface *",
    "interface * bond member *",
    "router bgp neighbor *",
    "service dhcp-relay * interface *",
    "service dhcp-relay * downstream-interface *",
    "service dhcp-relay * server-group * upstream-interface *",
    "service dhcp-relay6 * interface downstream *",
    "service dhcp-relay6 * interface upstream *",
    "vrf * router bgp neighbor *",
)
_NUMBERS = (
    "bridge domain * vlan *",
    "interface * bridge domain * vlan *",
    "qos congestion-control * traffic-class *",
    "qos egress-queue-mapping * switch-priority *",
    "qos egress-scheduler * traffic-class *",
    "qos mapping * dscp *",
    "qos mapping * pcp *",
    "qos pfc * switch-priority *",
)


def _patterns() -> Mapping[tuple[int, str], list[tuple[tuple[str, ...], str]]]:
    """Places and the kind of names there, by their number of words and the first of these."""
    patterns: dict[tuple[int, str], list[tuple[tuple[str, ...], str]]] = defaultdict(list)
    for kind, paths in (("interface", _INTERFACES), ("number", _NUMBERS)):
        for path in paths:
            place = tuple(path.split(" ")[:-1])
            patterns[len(place), place[0]].append((place, kind))
    return patterns


_PATTERNS = _patterns()
_RANGE = re.compile(r"(\d+)-(\d+)")
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.A)
_STEM = re.compile(r"(?P<stem>[A-Za-z_][A-Za-z0-9_.]*?)\d+(-\d+)?", re.A)
_ADDRESS = re.compile(r"[0-9]+\.[0-9.]+|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")
_MOST = 4096


def names(key: str, place: tuple[str, ...]) -> list[str]:
    """The names in a key at a place. Raises ValueError for an unknown form of list or range."""
    kind = _kind_of_names(place)
    if kind == "interface":
        return _interfaces(key)
    if kind == "number":
        return list(chain.from_iterable(_expanded(part) for part in key.split(",")))
    if "," in key:
        raise ValueError(f"{key} names several objects where one is known here")
    return [key]


def _kind_of_names(place: tuple[str, ...]) -> str:
    """``interface`` or ``number`` for places with such names, else ""."""
    if not place:
        return ""
    for pattern, kind in _PATTERNS.get((len(place), place[0]), ()):
        if all(word in {"*", name} for name, word in zip(place, pattern, strict=True)):
            return kind
    return ""


def _interfaces(key: str) -> list[str]:
    interfaces: list[str] = []
    stem = ""
    for part in key.split(","):
        if _ADDRESS.fullmatch(part):  # neighbours are named by interface or by address
            interfaces.append(part)
            continue
        is_bare = part[:1].isdecimal()
        name = f"{stem}{part}" if is_bare else part
        if not _NAME.fullmatch(name) or (is_bare and not stem):
            raise ValueError(f"{part} is no name of an interface that is known here")
        interfaces.extend(_expanded(name))
        if not is_bare:
            match = _STEM.fullmatch(part)
            stem = "" if match is None else match["stem"]
    return interfaces


def _expanded(name: str) -> Iterator[str]:
    """The names of a range, or a name itself. `swp1-2s0-1` has four."""
    pieces = _RANGE.split(name)
    between = pieces[::3]
    bounds = [(int(low), int(high)) for low, high in zip(pieces[1::3], pieces[2::3], strict=True)]
    if not bounds:
        yield name
        return
    size = 1
    for low, high in bounds:
        size *= high - low + 1
        if not 0 < size <= _MOST:
            raise ValueError(f"{name} is no range")
    if any("-" in text for text in between):
        raise ValueError(f"{name} may be a name or a range")
    for numbers in product(*(range(low, high + 1) for low, high in bounds)):
        parts = [f"{text}{number}" for text, number in zip(between, numbers, strict=False)]
        yield "".join([*parts, between[-1]])
