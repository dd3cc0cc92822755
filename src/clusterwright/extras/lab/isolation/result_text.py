"""Output of ``clusterwright lab check --isolation``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain

from clusterwright.extras.lab.isolation.compare import IsolationResult

_SHOWN = 20  # differences in text; JSON has all of them


def isolation_text(results: Sequence[tuple[str, IsolationResult]]) -> str:
    """The results of labs by name, as text."""
    lines = chain.from_iterable(_lines(name, result) for name, result in results)
    return "".join(f"{line}\n" for line in lines)


def isolation_json(results: Sequence[tuple[str, IsolationResult]]) -> str:
    """The results of labs by name, as JSON."""
    labs = [{"lab": name, **asdict(result)} for name, result in results]
    return json.dumps({"version": 1, "labs": labs}, indent=2) + "\n"


def _lines(name: str, result: IsolationResult) -> Iterator[str]:
    for difference in result.differences[:_SHOWN]:
        yield f"{difference.packet}: expected: {difference.expected}; {difference.happened}"
    if len(result.differences) > _SHOWN:
        yield f"and {len(result.differences) - _SHOWN:,} more; --format json has them all"
    yield from result.routes
    yield (
        f"{name}: {result.zones} zones, {result.members} senders, {result.pairs} ordered pairs;"
        f" rules of {result.nodes} nodes, lists of {result.lists} switch ports"
    )
    yield from (f"  {count:6,} {kind}" for kind, count in result.sent.items())
    if result.without_flow:
        kinds = ", ".join(f"{count} {kind}" for kind, count in result.without_flow.items())
        yield f"  of them pass without a flow, as lists of switches know no connections and only prefixes: {kinds}"
    if result.unjudged:
        senders = ", ".join(dict.fromkeys(sender for sender, _ in result.unjudged))
        receivers = ", ".join(dict.fromkeys(receiver for _, receiver in result.unjudged))
        yield (
            f"  not sent: from {senders} to {receivers}; the spec has no border through which they would come,"
            " and these have no rules of their own"
        )
    different = len(result.differences) + len(result.routes)
    noun = "difference" if different == 1 else "differences"
    sent = sum(result.sent.values())
    yield (
        f"{name}: {sent:,} packets, {result.arrived:,} to arrive, {result.stopped:,} to be stopped:"
        f" {different:,} {noun} to the declared matrix"
    )
