"""Compare the planned subnet with the scanned one; each difference is reported once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterwright.observe.cabling import repair
from clusterwright.observe.condition import guid_differences, model_differences, rate_differences
from clusterwright.observe.difference import ObservedDifference, in_rack_order
from clusterwright.observe.expected import ExpectedSubnet, expected_subnet
from clusterwright.observe.ibnetdiscover import Scan
from clusterwright.observe.identity import Identities, identify, planned_peers
from clusterwright.observe.presence import (
    absent_hosts,
    absent_switches,
    doubled_switches,
    internal_faults,
    relocated,
    strangers,
    twins,
)
from clusterwright.observe.progress import CableState, PlannedEnd, cable_states
from clusterwright.observe.relocation import Relocation, relocate
from clusterwright.observe.sentences import CableSentences
from clusterwright.observe.subnet import DiscoveredSubnet, merge
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
    """Differences between a fabric's plan and scans of it, in walking order.

    ``names`` is a node-name map by node GUID; ``by_name`` trusts names more than planned GUIDs; ``rates`` compares
    widths and speeds. Raises ClusterwrightError for a fabric that is not InfiniBand.
    """
    expected, subnet, identities, relocations = _identified(plan, fabric, scans, names, by_name=by_name)
    planned = planned_peers(expected, identities)
    observed = dict(subnet.peer)
    sentences = CableSentences(expected, subnet, identities)
    differences = [
        *relocated(expected, subnet, relocations),
        *model_differences(plan, expected, subnet, identities),
        *guid_differences(expected, subnet, identities),
    ]
    if rates:
        differences.extend(rate_differences(expected, subnet, identities, observed))
    differences.extend(internal_faults(expected, identities, planned, observed))
    differences.extend(twins(expected, subnet, identities, planned, observed))
    moved_nodes = {item.seen for item in relocations if item.seen is not None}
    differences.extend(
        doubled_switches(expected, subnet, identities, planned=planned, observed=observed, reported_units=moved_nodes)
    )
    differences.extend(absent_switches(expected, identities, planned, moved_nodes))
    differences.extend(absent_hosts(expected, identities, planned, moved_nodes))
    differences.extend(strangers(subnet, identities, observed, sentences))
    optional: set[int] = set()
    lower: set[int] = set()
    for link in expected.links:
        a, b = identities.base[link.a] + link.a_port, identities.base[link.b] + link.b_port
        lower.add(a)
        if not link.required:
            optional |= {a, b}
    differences.extend(sentences.cables(repair(planned, observed, optional, lower.__contains__)))
    return in_rack_order(differences)


def scanned_states(
    plan: Plan, fabric: str, scans: Sequence[Scan], *, names: Mapping[int, str] | None = None, by_name: bool = False
) -> dict[PlannedEnd, CableState]:
    """State of each planned cable of a fabric, by its lower end; arguments as in ``compare``.

    The cables of a device in the place of another one are wrong, even if the planned device could be moved instead.
    """
    expected, subnet, identities, relocations = _identified(plan, fabric, scans, names, by_name=by_name)
    moved = {item.place for item in relocations if item.seen is not None}
    cables, elsewhere, silent = [], set[int](), set[int]()
    cabled_links = [link for link in expected.links if link.speed_gbps]
    planned_cables = [cable for cable in plan.cables if cable.fabric == fabric]
    for link, cable in zip(cabled_links, planned_cables, strict=True):
        a, b = identities.base[link.a] + link.a_port, identities.base[link.b] + link.b_port
        cables.append(((cable.a.device, cable.a.port), a, b))
        if not link.required:
            silent.add(a)
        lower, upper = expected.sites[link.a], expected.sites[link.b]
        if not moved.isdisjoint((lower.unit, lower.names[0], upper.unit, upper.names[0])):
            elsewhere.add(a)
    return dict(cable_states(cables, subnet.peer, elsewhere, silent, subnet.contested.keys()))


def _identified(
    plan: Plan, fabric: str, scans: Sequence[Scan], names: Mapping[int, str] | None, *, by_name: bool
) -> tuple[ExpectedSubnet, DiscoveredSubnet, Identities, tuple[Relocation, ...]]:
    expected, subnet = expected_subnet(plan, fabric), merge(scans)
    first = identify(expected, subnet, names or {}, by_name=by_name, domain=plan.spec.site.domain)
    return expected, subnet, *relocate(expected, subnet, first)
