"""CW230, CW231: filters at hosts' ports that are larger than anybody says a chip takes, and too large to be made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.intent.edge_filters import entry_counts
from clusterwright.plan.model import Plan
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import ONE_ENTRY_EACH, system_of
from clusterwright.spec.text.document import Path

# No vendor publishes one figure: what a list takes depends on profiles and on what else is in the tables. This is about
# what the smallest of the tables that are published holds (FBOSS: five of 256).
_ASK_ABOVE = 1_000
_MOST = 50_000  # a file has 400 bytes for each on NVUE: 20 MB for a switch, which every proof reads


class _Fullest(NamedTuple):
    """The switch of a fabric with most entries, and how many switches are beyond what is asked about."""

    switch: str
    model: str
    entries: int
    others: int


@rule("CW230", Severity.WARNING)
def unbounded_filters(subject: Subject) -> Iterator[Problem]:
    """Fabrics whose switches have filters of many entries, on systems of which nobody says how many they take."""
    for fabric, most in _beyond(subject, _ASK_ABOVE).items():
        if most.entries > _MOST:
            continue
        yield Problem(
            _place(subject, fabric),
            f"The filter of hosts behind {most.switch} has {most.entries:,} entries, and nobody says how many a"
            f" {most.model} takes.{_more(most, fabric)}",
            "Try it on one switch before all others, or give each zone switches of its own, join flows, or name fewer"
            " ports.",
        )


@rule("CW231", Severity.ERROR)
def oversized_filters(subject: Subject) -> Iterator[Problem]:
    """Fabrics whose switches would have filters that no chip takes and that render and verify cannot hold."""
    for fabric, most in _beyond(subject, _MOST).items():
        yield Problem(
            _place(subject, fabric),
            f"The filter of hosts behind {most.switch} would have {most.entries:,} entries, of which no chip takes"
            f" {_MOST:,}.{_more(most, fabric)}",
            "Give each zone switches of its own, put zones together, or join flows: entries are sources times targets"
            " times flows.",
        )


def _place(subject: Subject, name: str) -> Path:
    """The addressing of a fabric in the spec: its filters are of its hosts."""
    fabric = subject.spec.fabric(name)
    return (*fabric.path, "addressing") if fabric is not None else ()


def _more(most: _Fullest, fabric: str) -> str:
    return f" So it is with {most.others:,} more switches of {fabric}." if most.others else ""


def _beyond(subject: Subject, limit: int) -> dict[str, _Fullest]:
    """By fabric, the fullest switch of a system without a known bound; nothing where every one is below a limit."""
    spec = subject.spec
    if not spec.flows or not spec.zones or not _may_exceed(subject, limit):
        return {}
    return _counted(subject.plan, limit)


def _may_exceed(subject: Subject, limit: int) -> bool:
    """Whether any switch may have more entries, from the skeleton: most specs need no plan for this."""
    bound = subject.filter_bound
    for fabric in bound.skeleton.fabrics:
        systems = [system_of(tier.model) for tier in fabric.fabric.tiers]
        kinds = {
            (fabric.seats[seat].tier, tuple(sorted(own.items())))
            for seat, own in bound.tenants[fabric.fabric.name].items()
        }
        for tier, own in kinds:
            system = systems[tier]
            if system is None or system.filter_tables is not None:
                continue
            if bound.entries(fabric.fabric, dict(own), system, ONE_ENTRY_EACH) > limit:
                return True
    return False


def _counted(plan: Plan, limit: int) -> dict[str, _Fullest]:
    found: dict[str, _Fullest] = {}
    for device, entries in entry_counts(plan):
        if entries <= limit:
            continue
        known = found.get(device.fabric)
        if known is None:
            found[device.fabric] = _Fullest(switch=device.name, model=device.model, entries=entries, others=0)
        elif entries > known.entries:
            found[device.fabric] = _Fullest(
                switch=device.name, model=device.model, entries=entries, others=known.others + 1
            )
        else:
            found[device.fabric] = known._replace(others=known.others + 1)
    return found
