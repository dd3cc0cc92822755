"""Checks of a node's isolation: the rendered packet filter as file and in the kernel, and the default routes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.node_health.readings import CommandOutput, Readings
from clusterwright.node_health.verdict import Check, Expected, check

_LIST = ("nft", "--json", "--stateless", "list")
_DEFAULT_DESTINATIONS = ("default", "0.0.0.0/0", "::/0")
# Types of routes that drop packets (ip-route(8)).
_DROPPING_TYPES = ("unreachable", "blackhole", "prohibit", "throw")


def isolation_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Checks of the packet filter and the default routes, where the deployment configures them."""
    if "filter" in expected:
        yield _packet_filter(readings, expected["filter"])
    if expected.get("owns_routes", True):
        yield _default_routes(readings, expected.get("default_routes", ()))


def _default_routes(readings: Readings, planned_routes: Iterable[Mapping[str, Any]]) -> Check:
    planned = {(route["version"], route["interface"]) for route in planned_routes}
    running = set()
    for version in (4, 6):
        for interface in _default_interfaces(readings, version):
            running.add((version, interface))
    reasons = []
    for version, interface in sorted(running - planned):
        reasons.append(f"default route of IPv{version} by {interface}")
    for version, interface in sorted(planned - running):
        reasons.append(f"no default route of IPv{version} by {interface}")
    wanted = ", ".join(f"IPv{version} by {interface}" for version, interface in sorted(planned)) or "none"
    return check("default-route", "see reason" if reasons else wanted, wanted, reasons)


def _default_interfaces(readings: Readings, version: int) -> Iterator[str]:
    """Outgoing interfaces of the default routes, with those of every next hop."""
    for route in _routes(readings.run("ip", "-j", f"-{version}", "route", "show", "table", "all")):
        is_default = route.get("dst") in _DEFAULT_DESTINATIONS
        if not is_default or route.get("type") in _DROPPING_TYPES:
            continue
        for hop in route.get("nexthops") or [route]:
            yield hop.get("dev", "an unknown interface")


def _routes(output: CommandOutput) -> list[dict[str, Any]]:
    """Routes of ip's JSON; an error becomes a default route named after it, so that the check fails."""
    try:
        routes: list[dict[str, Any]] = json.loads(output.text or "[]")
    except ValueError:
        return [{"dst": "default", "dev": "what ip does not tell"}]
    if output.error:
        return [{"dst": "default", "dev": output.error}]
    return routes


def listed_rules(expected_filter: Mapping[str, Any]) -> tuple[str, ...]:
    """Arguments of ``nft list``: the whole ruleset, or only the file's table if other programs have tables too."""
    if expected_filter.get("alone", True):
        return ("ruleset",)
    return ("table", "inet", "clusterwright")


def _packet_filter(readings: Readings, expected_filter: Mapping[str, Any]) -> Check:
    """The rendered file, and the kernel's rules against it.

    nft lists both to compare them; the file's rules are loaded into an empty network namespace.
    """
    path, planned_digest = expected_filter["path"], expected_filter["sha256"]
    listing = (*_LIST, *listed_rules(expected_filter))
    file = readings.file(path)
    digest = hashlib.sha256(file.text.encode()).hexdigest()
    running = readings.run(*listing)
    rendered = readings.run("unshare", "--net", "sh", "-c", f"nft --file {path} && {' '.join(listing)}")
    error = file.error or running.error or rendered.error
    reasons = []
    if digest != planned_digest:
        reasons.append(f"{path} is another file than the one rendered")
    elif _rules(running) != _rules(rendered):
        reasons.append(f"the running rules are not those of {path}")
    return check("packet-filter", digest[:12], planned_digest[:12], reasons, error)


def _rules(output: CommandOutput) -> list[str]:
    """Entries of nft's JSON, comparable as text; none for a damaged listing."""
    try:
        entries = json.loads(output.text)["nftables"]
    except (ValueError, KeyError):
        return []
    return [_sort_key(_normalised(entry)) for entry in entries if "metainfo" not in entry]


def _normalised(value: Any) -> Any:
    """A value without handles, and with sorted sets: the kernel lists their members by hash."""
    if isinstance(value, list):
        return list(map(_normalised, value))
    if not isinstance(value, dict):
        return value
    normalised = {}
    for key, inner in value.items():
        if key == "handle":
            continue
        normalised[key] = _normalised(inner)
        if key in ("set", "elem") and isinstance(inner, list):
            normalised[key].sort(key=_sort_key)
    return normalised


def _sort_key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
