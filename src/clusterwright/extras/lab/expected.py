"""The routes that every switch of a twin must have, from the cabling and the policy alone.

A path-vector computation over tiers: an announcement climbs from its origin as long as it came from below, then
descends; each switch keeps the neighbours with the shortest AS paths, and none whose path has its own AS number (RFC
4271, 9.1.2). It knows neither configuration files nor the router's code, so that it can judge both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.extras.lab.twin import Twin
from clusterwright.plan.model import Device


@dataclass(frozen=True, slots=True)
class Path:
    """How a switch reaches an origin: AS numbers on the way, nearest first, and the ports of all equal-cost links."""

    as_path: tuple[int, ...]
    ports: frozenset[str]


@dataclass(frozen=True, slots=True)
class ExpectedRoutes:
    """``ports``: per switch and prefix, the ports that it leaves by. ``upward``: per switch, the prefixes that its
    policy sends up: its own and those from below, and none when it is drained."""

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
    """Links that are up between BGP speakers: per switch, (neighbour, own port) below and above.

    A drained switch learns and announces nothing: it is a neighbour of nobody.
    """

    def __init__(self, twin: Twin) -> None:
        speakers = {view.device.name: view for view in twin.views if view.device.asn is not None}
        self.switches = sorted((view.device for view in speakers.values()), key=lambda device: device.tier)
        self.below: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.above: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, view in speakers.items():
            for link in view.links:
                peer = speakers.get(link.peer.device)
                if link.is_to_switch and link.is_up and peer is not None and not peer.is_drained:
                    side = self.below if link.port.side == "down" else self.above
                    side[name].append((link.peer.device, link.port.port))


def _climb(links: _Links, origin: Device) -> dict[str, Path]:
    """Paths of the switches above the origin, each over its links downwards."""
    path_by_device: dict[str, Path] = {}
    announced: dict[str, tuple[int, ...]] = {origin.name: (origin.asn or 0,)}
    for device in links.switches:
        path = None if device.name == origin.name else _best(device, links.below[device.name], announced)
        if path is not None:
            path_by_device[device.name] = path
            announced[device.name] = (device.asn or 0, *path.as_path)
    return path_by_device


def _descend(links: _Links, origin: Device, climbed: Mapping[str, Path]) -> dict[str, Path]:
    """Paths of all switches: of those above the origin downwards, of all others upwards."""
    path_by_device = dict(climbed)
    announced: dict[str, tuple[int, ...]] = {
        device.name: (device.asn or 0, *climbed[device.name].as_path)
        for device in links.switches
        if device.name in climbed
    }
    announced[origin.name] = (origin.asn or 0,)
    for device in reversed(links.switches):
        if device.name in path_by_device or device.name == origin.name:
            continue
        path = _best(device, links.above[device.name], announced)
        if path is not None:
            path_by_device[device.name] = path
            announced[device.name] = (device.asn or 0, *path.as_path)
    return path_by_device


def _best(device: Device, links: list[tuple[str, str]], announced: Mapping[str, tuple[int, ...]]) -> Path | None:
    usable = [
        (announced[neighbour], port)
        for neighbour, port in links
        if neighbour in announced and device.asn not in announced[neighbour]
    ]
    if not usable:
        return None
    shortest = min(len(path) for path, _ in usable)
    equal = [(path, port) for path, port in usable if len(path) == shortest]
    return Path(equal[0][0], frozenset(port for _, port in equal))
