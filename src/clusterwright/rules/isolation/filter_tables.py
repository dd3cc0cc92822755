"""CW693: more filter entries than the chips of switches hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.edge_filters import TablesShort, too_full
from clusterwright.intent.filter_bound import surely_fit
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import system_of


@rule("CW693", Severity.ERROR)
def too_many_entries(subject: Subject) -> Iterator[Problem]:
    """Fabrics with a switch whose hosts may send more than its filter tables hold; one problem for each fabric."""
    spec = subject.spec
    bounded = {
        tier.model.name
        for fabric in spec.fabrics
        for tier in fabric.tiers
        if (system := system_of(tier.model)) is not None and system.filter_tables is not None
    }
    if not bounded or not spec.flows or not spec.zones or surely_fit(spec, subject.skeleton):
        return
    plan = subject.plan
    flows = {flow.name: flow for flow in spec.flows}
    fullest: dict[str, TablesShort] = {}
    count: Counter[str] = Counter()
    for wanted in too_full(plan):
        fabric = plan.by_name[wanted.switch].fabric
        count[fabric] += 1
        if fabric not in fullest or wanted.entries > fullest[fabric].entries:
            fullest[fabric] = wanted
    for fabric, wanted in fullest.items():
        most = max(flows, key=lambda name: wanted.by_flow.get(name, 0))
        room, own = wanted.room, wanted.by_flow.get(most, 0)
        others = f" So it is with {count[fabric] - 1:,} more switches of {fabric}." if count[fabric] > 1 else ""
        yield Problem(
            (*flows[most].path, "name"),
            f"What hosts behind {wanted.switch} may send takes {wanted.entries:,} filter entries in"
            f" {wanted.tables - 1} tables beside that of the denies; {wanted.model} takes {room.tables}"
            f" tables of {room.entries:,} in all. Flow {most} takes {own:,} of the entries.{others}",
            "Name fewer ports, join flows, or put zones together.",
        )
