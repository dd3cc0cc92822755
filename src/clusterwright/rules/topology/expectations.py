"""CW200, CW203, CW204, CW212 and CW220: expected figures of a plan or a job, and oversized plans."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.bandwidth import narrowest_planned
from clusterwright.plan.size import cabled_port_count, node_count, switch_counts, uplink_counts
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import Expectation


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
                f"{item.figure} is planned as {_told_from(planned, bound)}, expected {item.words}.",
                hint,
            )


def _missed_bound(item: Expectation, planned: float) -> tuple[str, float]:
    """The bound missed by a figure: its key and value."""
    if item.at_most is not None and planned > item.at_most:
        return "at_most", item.at_most
    if item.at_least is not None and planned < item.at_least:
        return "at_least", item.at_least
    return "value", item.value or 0.0


def _told_from(planned: float, wanted: float) -> str:
    """A figure as text: counts in full, ratios with four digits, or with enough to differ from ``wanted``."""
    if planned == round(planned):
        return f"{planned:.0f}"
    digits = next((some for some in range(4, 12) if f"{planned:.{some}g}" != f"{wanted:.{some}g}"), 12)
    return f"{planned:.{digits}g}"


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
            name, narrow = (f"{kind}.{fabric.name}.{tier.role}" for kind in ("oversubscription", "narrowest"))
            if tier.up is None or name in declared:
                continue
            overall = subject.figures.get(name, 0)
            worst = narrowest.get(tier.role)
            if overall > 1 + 1e-9:
                message = f"Above {tier.role} there is {overall:.2f} times less bandwidth than its NICs have"
                if worst is not None and worst.ratio > overall + 1e-9:
                    message += f", above {worst.switch} {worst.ratio:.2f} times"
                message += "."
            elif worst is not None and worst.ratio > 1 + 1e-9 and narrow not in declared:
                message = (
                    f"Above {worst.switch} there is {worst.ratio:.2f} times less bandwidth than its NICs have, "
                    f"though not above {tier.role} on the whole."
                )
                name = narrow
            else:
                continue
            yield Problem((*tier.up.path, "links"), message, f"Add uplinks, or expect {name} with its reason.")


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
            yield Problem((*job.path, "axes"), message, "Shorten an axis.", key=True)
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
    """A phrase on the memory of a plan with these counts, if it is too large; otherwise ""."""
    size = devices * _DEVICE_BYTES + cables * _CABLE_BYTES
    most = f"and this program ends a slip in a count at {_MOST_BYTES / 1e9:g} GB"
    return f"would take {size / 1e9:,.1f} GB of memory, {most}" if size > _MOST_BYTES else ""
