"""Isolation of a node: its packet filter, its routes, and connections to the internet."""

from __future__ import annotations

import difflib
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clusterwright.node_health.isolation import isolation_checks, listed_rules
from clusterwright.node_health.readings import CommandOutput, Readings, run_commands
from clusterwright.node_health.verdict import Check, Expected, check

_COMMAND_TIMEOUT_S = 20.0  # no job waits for the watch, unlike for the node check
_CONNECT_TIMEOUT_S = 2.0
_LIST = ("nft", "--stateless", "list")
_MAXIMUM_DIFFERENCES = 40


class Isolation(NamedTuple):
    """Observed isolation of a node."""

    checks: Sequence[Check]
    differences: Sequence[str]
    """Lines of the running rules (``+``) and of the rendered file (``-``) that the other lacks."""


class _Listings(NamedTuple):
    """nft's listings of the packet filter."""

    rendered: CommandOutput
    """Of the file, loaded into an empty network namespace."""
    running: CommandOutput


def look(expected: Expected, probes: Iterable[Mapping[str, Any]]) -> Isolation:
    """Check the isolation once. ``expected`` is the node check's expected state, ``probes`` are addresses and ports."""
    # A run without any output collects the commands.
    nothing_read = Readings({})
    list(isolation_checks(nothing_read, expected))
    _listings(nothing_read, expected)
    outputs = run_commands(nothing_read.missing.values(), minimum_timeout_s=_COMMAND_TIMEOUT_S)
    readings = Readings(outputs)
    checks = [*isolation_checks(readings, expected), _egress(probes)]
    return Isolation(checks=checks, differences=_differences(_listings(readings, expected)))


def _listings(readings: Readings, expected: Expected) -> _Listings:
    path = expected["filter"]["path"]
    listing = (*_LIST, *listed_rules(expected["filter"]))
    rendered = readings.run("unshare", "--net", "sh", "-c", f"nft --file {path} && {' '.join(listing)}")
    return _Listings(rendered=rendered, running=readings.run(*listing))


def _differences(listings: _Listings) -> list[str]:
    rendered, running = listings.rendered.text.splitlines(), listings.running.text.splitlines()
    differences = []
    for line in difflib.unified_diff(rendered, running, lineterm="", n=0):
        is_header = line.startswith(("+++", "---"))
        if line.startswith(("+", "-")) and not is_header:
            differences.append(f"{line[0]} {line[1:].strip()}")
    return differences[:_MAXIMUM_DIFFERENCES]


def _egress(probes: Iterable[Mapping[str, Any]]) -> Check:
    """Attempted connections to the internet; all of them have to fail."""
    reasons = []
    for probe in probes:
        if _is_reachable(probe["address"], probe["port"]):
            reasons.append(f"{probe['address']} port {probe['port']} answers")
    return check("egress", "see reason" if reasons else "none answers", "none answers", reasons)


def _is_reachable(address: str, port: int) -> bool:
    """Whether a host answers: with a connection, or with a refusal, which is an answer from outside too."""
    try:
        with socket.create_connection((address, port), timeout=_CONNECT_TIMEOUT_S):
            return True
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def failures(checks: Iterable[Check]) -> Iterator[str]:
    """Name and reason of each failed check."""
    return (f"{result.name}: {result.reason}" for result in checks if not result.ok)
