"""Kinds of interfaces of a switch with NVUE, by name and type.

An interface of none of them could be a port that no proof sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.switches.nvue.reader.objects import Object

PORT = re.compile(r"swp\d+(s\d+)?", re.A)
_NAMES = {
    "swp": PORT,
    "eth": re.compile(r"eth\d+", re.A),
    "loopback": re.compile(r"lo"),
    "svi": re.compile(r"vlan\d+", re.A),
}
_STATES = ({"up"}, {"down"})
_EIGHT, _DISABLED = "8x", "disabled"
_RESERVED = re.compile(r"(swp|eth|vlan)\d.*|lo", re.A)
_ADDRESS = re.compile(r"[0-9]+\.[0-9.]+|[0-9a-f]*:[0-9a-f:.]*", re.I)


def unknown_interfaces(root: Object) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Lines and paths of interfaces of unknown kind or state, and of neighbours named by interface."""
    for name, section in root.items("interface"):
        if not _is_known(name, section.text("type")):
            yield section.line, ("interface", name)
        state = section.at("link", "state")
        if state.line and (state.value or set(state.below) not in _STATES):
            yield state.line, ("interface", name, "link", "state", " and ".join(state.below) or state.value)
    for vrf, section in root.items("vrf"):
        for peer, neighbour in section.items("router", "bgp", "neighbor"):
            if not is_numbered(peer):
                yield neighbour.line, ("vrf", vrf, "router", "bgp", "neighbor", peer)


def enabled_beside(root: Object) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Cages split into eight beside a cage that keeps its lanes: NVUE refuses these.

    NVIDIA disables swp56 beside swp55 and so on: NVIDIA/enterprise-ras, spectrum-era, exported configurations.
    """
    for name, section in root.items("interface"):
        if _EIGHT not in section.at("link", "breakout").below or not PORT.fullmatch(name):
            continue
        number = int(name.removeprefix("swp"))
        beside = f"swp{number + 1 if number % 2 else number - 1}"
        if _DISABLED not in root.at("interface", beside, "link", "breakout").below:
            yield section.line, ("interface", name, "link", "breakout", _EIGHT, f"{beside} is not disabled")


def is_numbered(peer: str) -> bool:
    """True for a neighbour named by its address."""
    return _ADDRESS.fullmatch(peer) is not None


def _is_known(name: str, kind: str) -> bool:
    if kind == "bond":
        return not _RESERVED.fullmatch(name)
    if kind:
        return kind in _NAMES and _NAMES[kind].fullmatch(name) is not None
    return any(form.fullmatch(name) for form in _NAMES.values())
