"""CW200: a cluster whose plan would fill the memory, found before it does."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.plan.size import cabled_port_count, node_count, switch_counts, uplink_counts
from clusterwright.rules.rule import Problem, Subject, rule

# Bytes that a plan keeps for a device and for a cable with both its ends; 131,072 GPUs on RoCE with their storage and
# management (76,376 devices, 497,820 cables) take 0.3 GB. A slip in a count takes as much as there is.
_DEVICE_BYTES, _CABLE_BYTES = 1_000, 500
_MOST_BYTES = 500_000_000


@rule("CW200", Severity.ERROR, relied_on=True)
def too_large(subject: Subject) -> Iterator[Problem]:
    """Nodes, switches and links counted by multiplication, before anything is expanded."""
    spec = subject.spec
    total = node_count(spec)
    if too_much := _too_much(total, cabled_port_count(spec)):
        largest = max(spec.node_groups, key=lambda group: group.count)
        message = f"{total:,} nodes and their cables {too_much}; {largest.name} alone has {largest.count:,} nodes."
        yield Problem((*largest.path, "count"), message, "Count nodes here, not GPUs.")
        return
    counted = switch_counts(spec)
    total = sum(switches for _, switches in counted)
    if too_much := _too_much(total, 0):
        tier, most = max(counted, key=lambda item: item[1])
        message = f"{total:,} switches {too_much}; tier {tier.role} alone has {most:,}."
        yield Problem((*tier.path, "count"), message, f"{tier.count:,} stand in each plane of each {tier.per}.")
    links = uplink_counts(spec)
    total = sum(count for _, count in links)
    if too_much := _too_much(0, total):
        tier, most = max(links, key=lambda item: item[1])
        message = f"{total:,} links between switches {too_much}; {most:,} of them begin here."
        yield Problem((*(tier.up or tier).path, "links"), message, "Check the number of uplinks.")


def _too_much(devices: int, cables: int) -> str:
    """What a plan of these takes of the memory, where it is too much; otherwise ""."""
    size = devices * _DEVICE_BYTES + cables * _CABLE_BYTES
    most = f"and a plan may take {_MOST_BYTES / 1e9:g} GB"
    return f"would take {size / 1e9:,.1f} GB of memory, {most}" if size > _MOST_BYTES else ""
