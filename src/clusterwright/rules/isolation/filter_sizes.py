"""CW230, CW231: host filters larger than the published limit of a chip, and filters too large to render."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.intent.edge_filters import entry_counts
from clusterwright.plan.model import Plan
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import ONE_ENTRY_EACH, system_of
from clusterwright.spec.text.document import Path

# Few vendors publish a figure for a chip (`chip_rules` of a system): the space of a list depends on profiles and on the
# other contents of the tables. This is about the size of the smallest published tables (FBOSS: five of 256).
_ASK_ABOVE = 1_000
_MOST = 50_000  # 400 bytes each in a file of NVUE: 20 MB for a switch, read by every proof


Limit = Callable[[HardwareModel, int], int]
"""The number of filter entries above which a switch is reported, by its model and the IP version."""


class _Fullest(NamedTuple):
    """The switch of a fabric with the most entries, and the number of other switches above the threshold."""

    switch: str
    model: HardwareModel
    version: int
    entries: int
    others: int


@rule("CW230", Severity.WARNING)
def unbounded_filters(subject: Subject) -> Iterator[Problem]:
    """Fabrics with more filter entries at a switch than its chip holds, or than 1,000 at a chip of unknown size."""
    for fabric, most in _beyond(subject, asked_above).items():
        if most.entries > _MOST:
            continue
        rules = _published(most.model, most.version)
        holds = f"the limit of a {most.model.name} is not known"
        if rules is not None:
            holds = f"a {most.model.name} holds {rules:,} rules of IPv{most.version}, the system's own among them"
        yield Problem(
            _place(subject, fabric),
            f"The filter of hosts behind {most.switch} has {most.entries:,} entries, and {holds}.{_more(most, fabric)}",
            "Load it on one switch first, or give each zone switches of its own, join flows, or name fewer ports.",
        )


@rule("CW231", Severity.ERROR)
def oversized_filters(subject: Subject) -> Iterator[Problem]:
    """Fabrics with filters at a switch too large for any chip, for rendering and for verification."""
    for fabric, most in _beyond(subject, _most).items():
        yield Problem(
            _place(subject, fabric),
            f"The filter of hosts behind {most.switch} would have {most.entries:,} entries, more than the"
            f" {_MOST:,} of any chip.{_more(most, fabric)}",
            "Give each zone switches of its own, put zones together, or join flows: entries are sources times targets"
            " times flows.",
        )


def _published(model: HardwareModel, version: int) -> int | None:
    """The published number of rules of a model's chip; None without one."""
    system = system_of(model)
    return None if system is None else system.rules_on(model.asic, version)


def asked_above(model: HardwareModel, version: int) -> int:
    """The most entries of a switch without a finding: the limit of its chip, or 1,000 without a published one."""
    return _published(model, version) or _ASK_ABOVE


def _most(model: HardwareModel, version: int) -> int:
    del model, version
    return _MOST


def _place(subject: Subject, name: str) -> Path:
    """The place of a fabric's addressing in the spec."""
    fabric = subject.spec.fabric(name)
    return (*fabric.path, "addressing") if fabric is not None else ()


def _more(most: _Fullest, fabric: str) -> str:
    return f" The same applies to {most.others:,} more switches of {fabric}." if most.others else ""


def _beyond(subject: Subject, limit: Limit) -> dict[str, _Fullest]:
    """The fullest switch of each fabric above a limit, among systems without a known bound."""
    spec = subject.spec
    if not spec.flows or not spec.zones or not _may_exceed(subject, limit):
        return {}
    return _counted(subject.plan, limit)


def _may_exceed(subject: Subject, limit: Limit) -> bool:
    """True if a switch may exceed the limit, by the skeleton: most specs need no plan for this."""
    bound = subject.filter_bound
    for skeleton in bound.skeleton.fabrics:
        fabric = skeleton.fabric
        if fabric.addressing is None:
            continue
        version = fabric.addressing.hosts.version
        for tier, tenants in _switch_kinds(skeleton, bound.tenants[fabric.name]):
            model = fabric.tiers[tier].model
            system = system_of(model)
            if system is None or system.has_chip_bound:
                continue
            tables = system.filter_tables or ONE_ENTRY_EACH
            if bound.entries(fabric, dict(tenants), system, tables) > limit(model, version):
                return True
    return False


def _switch_kinds(
    skeleton: FabricSkeleton, tenants_by_seat: Mapping[int, Mapping[str, int]]
) -> set[tuple[int, tuple[tuple[str, int], ...]]]:
    """The different combinations of a tier and the node groups behind a switch."""
    return {(skeleton.seats[seat].tier, tuple(sorted(tenants.items()))) for seat, tenants in tenants_by_seat.items()}


def _counted(plan: Plan, limit: Limit) -> dict[str, _Fullest]:
    beyond: dict[str, list[_Fullest]] = {}
    for device, entries in entry_counts(plan):
        model, version = plan.spec.catalogue[device.model], plan.address_version(device.fabric)
        if entries > limit(model, version):
            switch = _Fullest(switch=device.name, model=model, version=version, entries=entries, others=0)
            beyond.setdefault(device.fabric, []).append(switch)
    fullest = {}
    for fabric, switches in beyond.items():
        most = max(switches, key=lambda switch: switch.entries)
        fullest[fabric] = most._replace(others=len(switches) - 1)
    return fullest
