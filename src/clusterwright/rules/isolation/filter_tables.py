"""CW693: more filter entries than the chips of switches hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.edge_filters import TablesShort, too_full
from clusterwright.intent.filter_bound import surely_fit
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import system_of


@rule(
    code="CW693",
    severity=Severity.ERROR,
    title="more filter entries than the chip takes",
    why="The agent refuses the whole configuration, and with it the filters that keep zones apart.",
    mend="Write fewer flows, ports or zones: each pair of prefixes and each single port is an entry.",
    docs="SONiC's rules of a port are numbered from 9999 down, so that 9,998 find a number above that of the last,"
    " which denies the rest; how many its chip takes is not known here. FBOSS gives Tomahawk 3 seven tables of 256"
    " entries and Tomahawk 4 five, one of which denies what is left. Five are counted for every chip: what another"
    " takes is not known here, and a configuration does not say which it is for. On FBOSS an entry has one prefix and"
    " one port on each side, so that a flow takes as many as its sources behind the switch, times its targets, times"
    " its ports (a range of up to 64 is listed port by port), and a reply over TCP seven for each of these. A zone"
    " whose members fill whole subnets is one prefix; scattered members are one each. Counted are the entries that will"
    " be written, switch by switch; the finding stands at the flow that takes most of the fullest one.",
)
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
