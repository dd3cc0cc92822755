"""CW200, CW203, CW204, CW212 and CW220: expected figures of a plan or a job, and oversized plans."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.bandwidth import narrowest_planned
from clusterwright.plan.size import cabled_port_count, node_count, switch_counts, uplink_counts
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import Expectation

_ROUNDING = 1e-9


@rule("CW203", Severity.ERROR)
def expectation_missed(subject: Subject) -> Iterator[Problem]:
    """Expectations, compared with the figures of the skeleton."""
    for item in subject.spec.expectations:
        planned = subject.figures.get(item.figure)
        if planned is None:
            continue
        if not item.is_met(planned):
            key, bound = _missed_bound(item, planned)
            hint = f"The figure comes from: {item.source or item.assumed}"
            if item.figure.startswith("oversubscription.") and item.value is not None and planned < item.value:
                bound_of_each = f"write `at_most: {item.value:g}` for a bound of each switch"
                hint = f"{hint.rstrip('.')}. It is the mean of a tier: {bound_of_each}."
            yield Problem(
                (*item.path, key),
                f"{item.figure} is planned as {_distinct(planned, bound)}, expected {item.words}.",
                hint,
            )


def _missed_bound(item: Expectation, planned: float) -> tuple[str, float]:
    """The bound missed by a figure: its key and value."""
    if item.at_most is not None and planned > item.at_most:
        return "at_most", item.at_most
    if item.at_least is not None and planned < item.at_least:
        return "at_least", item.at_least
    return "value", item.value or 0.0


def _distinct(planned: float, bound: float) -> str:
    """A figure as text: counts in full, ratios with four digits, or with enough to differ from ``bound``."""
    if planned == round(planned):
        return f"{planned:.0f}"
    for digits in range(4, 12):
        if f"{planned:.{digits}g}" != f"{bound:.{digits}g}":
            return f"{planned:.{digits}g}"
    return f"{planned:.12g}"


@rule("CW204", Severity.ERROR)
def undeclared_oversubscription(subject: Subject) -> Iterator[Problem]:
    """RDMA fabrics with less bandwidth above a tier than its NICs have, without an expectation declaring it."""
    declared = {item.figure for item in subject.spec.expectations if item.highest is not None}
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        if fabric.technology == "ethernet":
            continue
        narrowest = narrowest_planned(skeleton)
        for tier in fabric.tiers:
            mean_figure = f"oversubscription.{fabric.name}.{tier.role}"
            narrowest_figure = f"narrowest.{fabric.name}.{tier.role}"
            if tier.up is None or mean_figure in declared:
                continue
            mean = subject.figures.get(mean_figure, 0)
            load = narrowest.get(tier.role)
            worst = load.ratio if load is not None else 0.0
            switch = load.switch if load is not None else ""
            if mean > 1 + _ROUNDING:
                figure = mean_figure
                message = f"Above {tier.role} there is {mean:.2f} times less bandwidth than its NICs have"
                if worst > mean + _ROUNDING:
                    message += f", above {switch} {worst:.2f} times"
            elif worst > 1 + _ROUNDING and narrowest_figure not in declared:
                figure = narrowest_figure
                message = (
                    f"Above {switch} there is {worst:.2f} times less bandwidth than its NICs have, "
                    f"though not above {tier.role} on the whole"
                )
            else:
                continue
            hint = f"Add uplinks, or expect {figure} with its reason."
            yield Problem((*tier.up.path, "links"), f"{message}.", hint)


@rule("CW212", Severity.ERROR)
def unknown_figure(subject: Subject) -> Iterator[Problem]:
    """Expectations of an unknown figure."""
    for item in subject.spec.expectations:
        if item.figure not in subject.figures:
            hint = did_you_mean(item.figure, subject.figures, "See the totals of `clusterwright inventory`.")
            yield Problem((*item.path, "figure"), f'This cluster has no figure "{item.figure}".', hint)


@rule("CW220", Severity.ERROR)
def oversized_job(subject: Subject) -> Iterator[Problem]:
    """Each job's ranks, compared with the GPUs of its node group."""
    for job in subject.spec.jobs:
        group = subject.spec.node_group(job.nodes)
        if group is None:
            continue
        gpus = group.model.gpus.count if group.model.gpus is not None else 0
        if not gpus:
            yield Problem((*job.path, "nodes"), f"{job.nodes} have no GPUs.", "Name nodes with GPUs.")
        elif job.ranks > gpus * group.count:
            message = f"{job.name} has {job.ranks:,} ranks, but {job.nodes} have {gpus * group.count:,} GPUs."
            yield Problem((*job.path, "axes"), message, "Reduce an axis.", key=True)
        elif job.ranks % gpus:
            message = f"{job.name} has {job.ranks:,} ranks, which are not whole nodes of {gpus} GPUs."
            yield Problem((*job.path, "axes"), message, f"Make the product of its axes a multiple of {gpus}.", key=True)


# Bytes of a plan for a device and for a cable with both its ends; 131,072 GPUs on RoCE with their storage and
# management (76,376 devices, 497,820 cables) take 0.3 GB. A mistyped count may take all memory.
_DEVICE_BYTES, _CABLE_BYTES = 1_000, 500
_MOST_BYTES = 500_000_000


@rule("CW200", Severity.ERROR, relied_on=True)
def too_large(subject: Subject) -> Iterator[Problem]:
    """Nodes, switches and links, counted by multiplication before anything is expanded."""
    spec = subject.spec
    nodes = node_count(spec)
    excess = _excess(nodes, cabled_port_count(spec))
    if excess:
        largest = max(spec.node_groups, key=lambda group: group.count)
        message = f"{nodes:,} nodes and their cables {excess}; {largest.name} alone has {largest.count:,} nodes."
        yield Problem((*largest.path, "count"), message, "Count nodes here, not GPUs.")
        return
    switches_by_tier = switch_counts(spec)
    switches = sum(count for _, count in switches_by_tier)
    excess = _excess(switches, 0)
    if excess:
        tier, most = max(switches_by_tier, key=lambda item: item[1])
        message = f"{switches:,} switches {excess}; tier {tier.role} alone has {most:,}."
        yield Problem((*tier.path, "count"), message, f"{tier.count:,} stand in each plane of each {tier.per}.")
    links_by_tier = uplink_counts(spec)
    links = sum(count for _, count in links_by_tier)
    excess = _excess(0, links)
    if excess:
        tier, most = max(links_by_tier, key=lambda item: item[1])
        message = f"{links:,} links between switches {excess}; {most:,} of them begin here."
        yield Problem((*(tier.up or tier).path, "links"), message, "Check the number of uplinks.")


def _excess(devices: int, cables: int) -> str:
    """A phrase on the memory of a plan with these counts, if it is too large; otherwise ""."""
    size_bytes = devices * _DEVICE_BYTES + cables * _CABLE_BYTES
    if size_bytes <= _MOST_BYTES:
        return ""
    limit = f"and plans of more than {_MOST_BYTES / 1e9:g} GB are refused"
    return f"would take {size_bytes / 1e9:,.1f} GB of memory, {limit}"
