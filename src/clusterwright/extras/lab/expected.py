"""Expected routes of every switch of a twin, from the cabling and the policy alone.

A path-vector computation over tiers: an announcement climbs from its origin as long as it came from below, then
descends; each switch keeps the neighbours with the shortest AS paths, without those whose path contains its own AS
number (RFC 4271, 9.1.2). It uses neither configuration files nor the router's code, so it can check both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.extras.lab.twin import Twin
from clusterwright.plan.model import Device


@dataclass(frozen=True, slots=True)
class Path:
    """The path from a switch to an origin: AS numbers, nearest first, and the ports of all equal-cost links."""

    as_path: tuple[int, ...]
    ports: frozenset[str]


@dataclass(frozen=True, slots=True)
class ExpectedRoutes:
    """Routes by switch and prefix, and announcements by switch.

    ``ports`` are the outgoing ports of a switch to a prefix; ``upward`` the prefixes announced upwards: its own and
    those from below, none for a drained switch.
    """

    ports: Mapping[str, Mapping[str, frozenset[str]]]
    upward: Mapping[str, frozenset[str]]


def expected_routes(twin: Twin) -> ExpectedRoutes:
    """The routes of every switch of the twin once BGP has converged."""
    links = _Links(twin)
    ports: dict[str, dict[str, frozenset[str]]] = {view.device.name: {} for view in twin.views}
    upward: dict[str, set[str]] = {view.device.name: set() for view in twin.views}
    for view in twin.views:
        origin = view.device
        if origin.asn is None:
            continue
        prefixes = [item.text for item in view.origins]
        climbed = _climb(links, origin)
        for name in (origin.name, *climbed):
            if not twin.view_of[name].is_drained:
                upward[name].update(prefixes)
        for name, path in _descend(links, origin, climbed).items():
            for prefix in prefixes:
                ports[name][prefix] = path.ports
    return ExpectedRoutes(ports, {name: frozenset(ports_up) for name, ports_up in upward.items()})


class _Links:
    """Links in service between BGP speakers: per switch, (neighbour, local port) below and above.

    A drained switch learns and announces nothing: it counts as no neighbour.
    """

    def __init__(self, twin: Twin) -> None:
        speakers = {view.device.name: view for view in twin.views if view.device.asn is not None}
        self.switches = sorted((view.device for view in speakers.values()), key=lambda device: device.tier)
        self.below: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.above: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, view in speakers.items():
            for link in view.links:
                peer = speakers.get(link.peer.device)
                is_usable = link.is_to_switch and link.is_up
                if not is_usable or peer is None or peer.is_drained:
                    continue
                side = self.below if link.port.side == "down" else self.above
                side[name].append((link.peer.device, link.port.port))


def _climb(links: _Links, origin: Device) -> dict[str, Path]:
    """Paths of the switches above the origin, each over its links downwards."""
    path_by_device: dict[str, Path] = {}
    announced: dict[str, tuple[int, ...]] = {origin.name: (origin.asn or 0,)}
    for device in links.switches:
        if device.name == origin.name:
            continue
        path = _best(device, links.below[device.name], announced)
        if path is not None:
            path_by_device[device.name] = path
            announced[device.name] = (device.asn or 0, *path.as_path)
    return path_by_device


def _descend(links: _Links, origin: Device, climbed: Mapping[str, Path]) -> dict[str, Path]:
    """Paths of all switches: downwards for those above the origin, upwards for all others."""
    path_by_device = dict(climbed)
    announced: dict[str, tuple[int, ...]] = {origin.name: (origin.asn or 0,)}
    for device in links.switches:
        if device.name in climbed:
            announced[device.name] = (device.asn or 0, *climbed[device.name].as_path)
    for device in reversed(links.switches):
        if device.name in path_by_device or device.name == origin.name:
            continue
        path = _best(device, links.above[device.name], announced)
        if path is not None:
            path_by_device[device.name] = path
            announced[device.name] = (device.asn or 0, *path.as_path)
    return path_by_device


def _best(device: Device, links: list[tuple[str, str]], announced: Mapping[str, tuple[int, ...]]) -> Path | None:
    """The shortest of the announced paths without the device's AS number; None without one."""
    ports_by_path: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for neighbour, port in links:
        as_path = announced.get(neighbour)
        if as_path is not None and device.asn not in as_path:
            ports_by_path[as_path].append(port)
    if not ports_by_path:
        return None
    shortest = min(map(len, ports_by_path))
    equal_paths = [path for path in ports_by_path if len(path) == shortest]
    ports: set[str] = set()
    for path in equal_paths:
        ports.update(ports_by_path[path])
    return Path(equal_paths[0], frozenset(ports))
