"""The planned subnet against the scanned one: every difference, each said once and none that is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterwright.observe.cabling import repair
from clusterwright.observe.condition import guid_differences, model_differences, rate_differences
from clusterwright.observe.difference import ObservedDifference, in_rack_order
from clusterwright.observe.expected import expected_subnet
from clusterwright.observe.ibnetdiscover import Scan
from clusterwright.observe.identity import identify, planned_peers
from clusterwright.observe.presence import (
    absent_hosts,
    absent_switches,
    doubled_switches,
    internal_faults,
    relocated,
    strangers,
    twins,
)
from clusterwright.observe.relocation import relocate
from clusterwright.observe.sentences import Speaker
from clusterwright.observe.subnet import merge
from clusterwright.plan.model import Plan


def compare(
    plan: Plan,
    fabric: str,
    scans: Sequence[Scan],
    *,
    names: Mapping[int, str] | None = None,
    by_name: bool = False,
    rates: bool = True,
) -> tuple[ObservedDifference, ...]:
    """Every difference between a fabric's plan and scans of it, in walking order.

    ``names`` is a node-name map by node GUID; ``by_name`` trusts names more than planned GUIDs; ``rates`` compares
    widths and speeds. Raises ClusterwrightError for a fabric that is not InfiniBand.
    """
    expected = expected_subnet(plan, fabric)
    subnet = merge(scans)
    first = identify(expected, subnet, names or {}, by_name=by_name, domain=plan.spec.site.domain)
    found, relocations = relocate(expected, subnet, first)
    planned = planned_peers(expected, found)
    observed = dict(subnet.peer)
    speaker = Speaker(expected, subnet, found)
    differences = [
        *relocated(expected, subnet, relocations),
        *model_differences(plan, expected, subnet, found),
        *guid_differences(expected, subnet, found),
    ]
    if rates:
        differences.extend(rate_differences(expected, subnet, found, observed))
    differences.extend(internal_faults(expected, found, planned, observed))
    differences.extend(twins(expected, subnet, found, planned, observed))
    told = {item.seen for item in relocations if item.seen is not None}
    differences.extend(doubled_switches(expected, subnet, found, planned, observed, told))
    differences.extend(absent_switches(expected, found, planned, told))
    differences.extend(absent_hosts(expected, found, planned, told))
    differences.extend(strangers(subnet, found, observed, speaker))
    optional: set[int] = set()
    lower: set[int] = set()
    for link in expected.links:
        a, b = found.base[link.a] + link.a_port, found.base[link.b] + link.b_port
        lower.add(a)
        if not link.required:
            optional |= {a, b}
    differences.extend(speaker.cables(repair(planned, observed, optional, lower.__contains__)))
    return in_rack_order(differences)
