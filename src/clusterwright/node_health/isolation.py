"""Checks of the node's isolation: its packet filter is the rendered one, file and kernel, and no way leads outside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.readings import Answer, Readings
from clusterwright.node_health.verdict import Check, Expected, check

_LIST = ("nft", "--json", "--stateless", "list")
_NOWHERE = ("unreachable", "blackhole", "prohibit", "throw")


def isolation_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """The packet filter and the routes, as far as they are the deployment's."""
    if "filter" in expected:
        yield _packet_filter(readings, expected["filter"])
    if not expected.get("owns_routes", True):
        return
    planned = {(route["version"], route["interface"]) for route in expected.get("default_routes", ())}
    running = {(version, interface) for version in (4, 6) for interface in _default_interfaces(readings, version)}
    wrong = [f"default route of IPv{version} by {interface}" for version, interface in sorted(running - planned)]
    wrong += [f"no default route of IPv{version} by {interface}" for version, interface in sorted(planned - running)]
    wanted = ", ".join(f"IPv{version} by {interface}" for version, interface in sorted(planned)) or "none"
    yield check("default-route", "see reason" if wrong else wanted, wanted, wrong)


def _default_interfaces(readings: Readings, version: int) -> Iterator[str]:
    """The interfaces that default routes leave by, those over several next hops included."""
    for route in _routes(readings.run("ip", "-j", f"-{version}", "route", "show", "table", "all")):
        if route.get("dst") in ("default", "0.0.0.0/0", "::/0") and route.get("type") not in _NOWHERE:
            hops = route.get("nexthops") or [route]
            yield from (hop.get("dev", "an unknown interface") for hop in hops)


def listed_rules(expected_filter: Mapping[str, Any]) -> tuple[str, ...]:
    """What nft is to list: all rules, or the file's table where other programs have tables beside it."""
    return ("ruleset",) if expected_filter.get("alone", True) else ("table", "inet", "clusterwright")


def _packet_filter(readings: Readings, expected_filter: Mapping[str, Any]) -> Check:
    """Only the kernel can say what a file means: it loads it into an empty network namespace to compare."""
    path, sha256 = expected_filter["path"], expected_filter["sha256"]
    listing = (*_LIST, *listed_rules(expected_filter))
    file = readings.file(path)
    digest = hashlib.sha256(file.text.encode()).hexdigest()
    running = readings.run(*listing)
    meant = readings.run("unshare", "--net", "sh", "-c", f"nft --file {path} && {' '.join(listing)}")
    wrong = []
    if file.trouble or running.trouble or meant.trouble:
        wrong = [file.trouble or running.trouble or meant.trouble]
    elif digest != sha256:
        wrong = [f"{path} is another file than the one rendered"]
    elif _rules(running) != _rules(meant):
        wrong = [f"the running rules are not those of {path}"]
    return check("packet-filter", digest[:12], sha256[:12], wrong)


def _rules(answer: Answer) -> list[str]:
    try:
        entries = json.loads(answer.text)["nftables"]
    except (ValueError, KeyError):
        return []
    return [json.dumps(_ordered(entry), sort_keys=True) for entry in entries if "metainfo" not in entry]


def _ordered(value: Any) -> Any:
    """A listing without handles, members of sets in one order: the kernel lists them by hash."""
    if isinstance(value, dict):
        return {
            key: sorted(map(_ordered, inner), key=lambda item: json.dumps(item, sort_keys=True))
            if key in ("set", "elem") and isinstance(inner, list)
            else _ordered(inner)
            for key, inner in value.items()
            if key != "handle"
        }
    return list(map(_ordered, value)) if isinstance(value, list) else value


def _routes(answer: Answer) -> list[dict[str, Any]]:
    """The routes that ip lists; one that says why it lists none, which no node has."""
    try:
        found: list[dict[str, Any]] = json.loads(answer.text or "[]")
    except ValueError:
        return [{"dst": "default", "dev": "what ip does not tell"}]
    return [{"dst": "default", "dev": answer.trouble}] if answer.trouble else found
