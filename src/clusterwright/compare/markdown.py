"""A comparison as a comment of a pull request: a table of touched devices, with all changes folded below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.compare.changes import CableChanges, ConfigGroup, PlanChanges
from clusterwright.compare.text import EXAMPLES, text_lines
from clusterwright.plan.model import Cable, Plan
from clusterwright.plan.service import OUT_OF_SERVICE

MOST_CHARACTERS = 60_000
"""Limit of a comment: GitHub accepts 65,536 characters, GitLab more."""
_FENCE = "`````"  # longer than any in a rendered file


def markdown_lines(
    before: Plan,
    after: Plan,
    changes: PlanChanges,
    configs: Sequence[ConfigGroup] | None,
    claims: Sequence[tuple[str, str, str]] | None,
    *,
    most_lines: int,
    outlook: Sequence[tuple[str, str]] = (),
) -> Iterator[str]:
    """The lines of the comment.

    ``configs`` None leaves configuration out; ``claims`` are proofs by name with their answers before and after, None
    without proofs; ``outlook`` are rows on waves and jobs.
    """
    yield f"### {changes.before} → {changes.after}"
    yield ""
    if not changes and not configs and not _changed_claims(claims):
        yield "No difference: nothing is sent to any device."
        return
    yield "| what | touched |"
    yield "| --- | --- |"
    yield f"| devices | {_devices(changes)} |"
    if configs is not None:
        yield f"| configuration | {_configured(configs)} |"
        yield f"| nodes with GPUs that change | {_job_nodes(before, changes, configs)} |"
    for fabric in changes.cables:
        if fabric:
            yield f"| links of {fabric.fabric} | {_links(fabric)} |"
            yield from _sessions(after, fabric)
    yield f"| addresses that move | {len(changes.addresses):,} |"
    yield f"| zones | {_zones(changes)} |"
    for title, text in outlook:
        yield f"| {title} | {text} |"
    if claims is not None:
        yield f"| proofs | {_claims(claims)} |"
    yield ""
    yield from _folded(text_lines(changes, configs, most_lines))


def _devices(changes: PlanChanges) -> str:
    devices = changes.devices
    changed = len({item.device for item in devices.changed})
    parts = [f"{len(devices.added):,} added", f"{len(devices.removed):,} removed", f"{changed:,} changed"]
    if devices.renamed:
        parts.append(f"{len(devices.renamed):,} renamed")
    return ", ".join(parts)


def _configured(configs: Sequence[ConfigGroup]) -> str:
    count_by_role: dict[str, int] = {}
    for group in configs:
        count_by_role[group.role] = count_by_role.get(group.role, 0) + len(group.devices)
    if not count_by_role:
        return "no file of any device"
    return ", ".join(f"{count:,} {role}" for role, count in count_by_role.items())


def _job_nodes(before: Plan, changes: PlanChanges, configs: Sequence[ConfigGroup]) -> str:
    """Number and names of existing nodes with GPUs that are touched: their files, their cables, or themselves."""
    gpu_nodes = {device.name for device in before.devices if device.rank is not None}
    touched = set(chain.from_iterable(group.devices for group in configs))
    touched |= {device.name for device in changes.devices.removed}
    for fabric in changes.cables:
        for cable in _touched_cables(fabric):
            touched.update((cable.a.device, cable.b.device))
    names = sorted(gpu_nodes & touched)
    if not names:
        return f"none of {len(gpu_nodes):,}"
    return f"{len(names):,} of {len(gpu_nodes):,}: {and_more(names, EXAMPLES)}"


def _touched_cables(fabric: CableChanges) -> Iterator[Cable]:
    yield from (*fabric.removed, *fabric.stopped)
    for move in (*fabric.moved, *fabric.replaced):
        yield from (move.before, move.after)


def _links(fabric: CableChanges) -> str:
    counts = (
        (fabric.added, "added"),
        (fabric.removed, "removed"),
        (fabric.moved, "moved"),
        (fabric.replaced, "replaced"),
        (fabric.stopped, "without traffic"),
        (fabric.started, "with traffic again"),
    )
    return ", ".join(f"{len(cables):,} {word}" for cables, word in counts if cables)


def _sessions(after: Plan, fabric: CableChanges) -> Iterator[str]:
    """The number of BGP sessions that end or begin: one over each link between switches of a routed fabric.

    Sessions over a drained switch's links stay; those of a switch out of service end.
    """
    routed = after.spec.fabric(fabric.fabric)
    if routed is None or routed.addressing is None:
        return
    stopped = [cable for cable in fabric.stopped if _is_out_of_service(after, cable)]
    ending = _between_switches((*fabric.removed, *stopped, *(move.before for move in fabric.moved)))
    beginning = _between_switches((*fabric.added, *(move.after for move in fabric.moved)))
    if ending or beginning:
        yield f"| BGP sessions of {fabric.fabric} | {ending:,} end, {beginning:,} begin |"


def _is_out_of_service(plan: Plan, cable: Cable) -> bool:
    return any(plan.by_name[end.device].state == OUT_OF_SERVICE for end in (cable.a, cable.b))


def _between_switches(cables: Iterable[Cable]) -> int:
    return sum(cable.a.side == "up" for cable in cables)


def _zones(changes: PlanChanges) -> str:
    opened = [cell for cell in changes.isolation.access if cell.opened]
    closed = [cell for cell in changes.isolation.access if not cell.opened]
    parts = [f"**opens** {cell.source} → {cell.target}: {cell.traffic}" for cell in opened[:EXAMPLES]]
    parts += [f"closes {cell.source} → {cell.target}: {cell.traffic}" for cell in closed[:EXAMPLES]]
    shown = len(parts)
    if len(opened) + len(closed) > shown:
        parts.append(f"and {len(opened) + len(closed) - shown:,} more")
    others = len(changes.isolation.terms) + len(changes.isolation.membership)
    if others:
        parts.append(f"{others:,} other changes of flows and members")
    return "; ".join(parts) or "no change"


def _changed_claims(claims: Sequence[tuple[str, str, str]] | None) -> list[tuple[str, str, str]]:
    return [claim for claim in claims or () if claim[1] != claim[2]]


def _claims(claims: Sequence[tuple[str, str, str]]) -> str:
    changed = [f"**{name}**: {old} → {new}" for name, old, new in _changed_claims(claims)]
    same = len(claims) - len(changed)
    return "; ".join([*changed, f"{same:,} with the same answer"])


def _folded(lines: Iterable[str]) -> Iterator[str]:
    """All lines below a summary, up to the size limit of a comment."""
    yield "<details><summary>All of it</summary>"
    yield ""
    yield f"{_FENCE}text"
    remaining = MOST_CHARACTERS
    for line in lines:
        remaining -= len(line) + 1
        if remaining < 0:
            yield "… cut here; `clusterwright diff` shows the rest"
            break
        yield line
    yield _FENCE
    yield ""
    yield "</details>"
