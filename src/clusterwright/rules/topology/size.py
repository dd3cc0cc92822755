"""CW200: a cluster that is larger than anybody builds, found before it fills the memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.size import node_count, switch_counts, uplink_counts
from clusterwright.rules.rule import Problem, Subject, rule

# Ten times the largest reference cluster; what is just below is still linted in under two seconds.
MAX_DEVICES = 32_000
MAX_LINKS = 500_000


@rule(
    code="CW200",
    severity=Severity.ERROR,
    title="cluster larger than anybody builds",
    why="A slip in a count asks for millions of switches or links; the plan is refused before it fills the memory.",
    mend="Check the counts of nodes, switches and links.",
    docs="Counted by multiplication, before anything is expanded: 32,000 nodes, 32,000 switches and 500,000"
    " links between switches are ten times what the largest reference cluster has. Usual causes are a count"
    " of GPUs where nodes are meant, `of` and `count` exchanged, or a zero too many.",
    relied_on=True,
)
def too_large(subject: Subject) -> Iterator[Problem]:
    """Switches and links counted by multiplication, before anything is expanded."""
    spec = subject.spec
    total = node_count(spec)
    if total > MAX_DEVICES:
        largest = max(spec.node_groups, key=lambda group: group.count)
        message = f"{total:,} nodes are more than {MAX_DEVICES:,}; {largest.name} alone has {largest.count:,}."
        yield Problem((*largest.path, "count"), message, "Count nodes here, not GPUs.")
        return
    counted = switch_counts(spec)
    total = sum(switches for _, switches in counted)
    if total > MAX_DEVICES:
        tier, most = max(counted, key=lambda item: item[1])
        message = f"{total:,} switches are more than {MAX_DEVICES:,}; tier {tier.role} alone has {most:,}."
        yield Problem((*tier.path, "count"), message, f"{tier.count:,} stand in each plane of each {tier.per}.")
    links = uplink_counts(spec)
    total = sum(count for _, count in links)
    if total > MAX_LINKS:
        tier, most = max(links, key=lambda item: item[1])
        message = f"{total:,} links between switches are more than {MAX_LINKS:,}; {most:,} of them begin here."
        yield Problem((*(tier.up or tier).path, "links"), message, "Check the number of uplinks.")
