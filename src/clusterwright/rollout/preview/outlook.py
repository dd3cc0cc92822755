"""Waves and jobs of a change before its deployment: two specs compared, as if the first one ran everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.units import cut
from clusterwright.device_files.effect import Effect
from clusterwright.output.rendering import Rendering
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.rollout.consequences import effect_of
from clusterwright.rollout.disturbance import Disturbance, disturbance
from clusterwright.rollout.preview.text import job_phrases, run_of_waves, run_text
from clusterwright.rollout.running_jobs import planned_jobs
from clusterwright.rollout.waves import plan_waves

if TYPE_CHECKING:
    from clusterwright.compare.changes import ConfigGroup
    from clusterwright.plan.model import Plan

_MOST = 6  # most runs of waves, or jobs, in a comment
_BREAK = "<br>"  # between lines of a cell


def expected_disturbance(
    before: Plan, after: Plan, groups: Sequence[ConfigGroup], renamed: Mapping[str, str]
) -> Disturbance:
    """The waves of a change from one plan to the other and their disturbance, with the spec's jobs as placed.

    ``groups`` are devices with equal changed lines: one of each is rendered, since equal lines have equal effects.
    ``renamed`` maps names of ``before`` to those of ``after``.
    """
    old_names = {new: old for old, new in renamed.items()}
    effects: dict[str, Effect] = {}
    for group in groups:
        names = [name for name in group.devices if _is_sent(after, name)]
        if not names:
            continue
        old = Rendering(before).of_device(old_names.get(names[0], names[0]))
        new = Rendering(after).of_device(names[0])
        effect = effect_of(after.by_name[names[0]], tuple(old), tuple(new))
        effects.update(dict.fromkeys(names, effect or Effect.LIVE))
    # A new device holds nothing yet, so its effects disturb no job.
    for name in after.by_name:
        if old_names.get(name, name) not in before.by_name and _is_sent(after, name):
            effects[name] = Effect.LIVE
    waves = plan_waves(after, cut(after), effects, after.spec.rollout)
    jobs, notes = planned_jobs(before)
    return disturbance((before, after), waves, effects, jobs=jobs, notes=notes)


def _is_sent(plan: Plan, name: str) -> bool:
    """Whether `up` sends files to a device; it skips devices out of service and servers of the site."""
    device = plan.by_name.get(name)
    return device is not None and device.state != OUT_OF_SERVICE


def outlook_rows(disturbance: Disturbance) -> list[tuple[str, str]]:
    """Rows of a comment's table about waves and jobs."""
    return [("jobs", _jobs(disturbance)), ("waves", _waves(disturbance))]


def _jobs(disturbance: Disturbance) -> str:
    lines = [f"**{impact.job.name}**: {'; '.join(job_phrases(impact))}" for impact in disturbance.jobs[:_MOST]]
    if len(disturbance.jobs) > _MOST:
        lines.append(f"and {len(disturbance.jobs) - _MOST:,} more jobs")
    if disturbance.untouched:
        lines.append(f"unaffected: {and_more([job.name for job in disturbance.untouched], _MOST)}")
    lines += [f"note: {note}" for note in disturbance.notes]
    return _BREAK.join(lines) or "the spec has none"


def _waves(disturbance: Disturbance) -> str:
    if not disturbance.waves:
        return "none"
    runs = [list(run) for _, run in groupby(disturbance.waves, key=run_of_waves)]
    lines = [run_text(run).strip() for run in runs[:_MOST]]
    if len(runs) > _MOST:
        lines.append(f"and {len(runs) - _MOST:,} more runs of waves")
    return _BREAK.join([f"{len(disturbance.waves):,}, if devices hold the files of the first spec", *lines])
