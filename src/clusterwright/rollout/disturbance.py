"""Disturbance by a rollout while it lasts: links, racks' bandwidth and jobs, wave by wave.

Bandwidth is computed as in ``bandwidth``; a device that takes its change while it runs disturbs no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.device_files.effect import Effect
from clusterwright.plan.model import Plan
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.rollout.bandwidth import RackWays, ways_of
from clusterwright.rollout.lost_partitions import PartitionLoss, lost_partitions
from clusterwright.rollout.preview.capacity import kept_after
from clusterwright.rollout.running_jobs import RunningJob
from clusterwright.rollout.waves import Wave

AFTERWARDS = 0  # of waves, which count from 1


@dataclass(frozen=True, slots=True)
class WaveImpact:
    """One wave, ``number`` from 1: ``away`` are the devices that restart or boot while it lasts.

    ``links`` counts the cables in service that are down with them, by fabric. ``losers`` maps racks that lose
    bandwidth to their remaining share, 0 to 1; racks that change themselves are not among them. ``cut`` are those of
    them whose own switch is away.
    """

    number: int
    wave: Wave
    away: tuple[str, ...]
    links: Mapping[str, int]
    losers: Mapping[str, float]
    cut: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobImpact:
    """A job that meets the change.

    ``booting`` are its nodes that boot anew, ``interrupted`` those whose interfaces are set up anew, ``cut`` those that
    lose every way on some fabric, ``slowed`` those whose rack keeps only a part of its way; ``least`` is the least
    part, in the wave of number ``worst_wave`` or, where that is AFTERWARDS, for as long as devices stay drained.
    """

    job: RunningJob
    booting: tuple[str, ...]
    cut: tuple[str, ...]
    slowed: tuple[str, ...]
    least: float
    worst_wave: int
    interrupted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Everything that the change takes.

    ``standing`` maps racks to their remaining share afterwards, for as long as devices stay drained, where that is less
    than before. ``untouched`` are jobs without any effect. ``notes`` name missing information. ``partitions`` are those
    that nodes lose, with every connection in them.
    """

    waves: tuple[WaveImpact, ...]
    standing: Mapping[str, float]
    jobs: tuple[JobImpact, ...]
    untouched: tuple[RunningJob, ...]
    notes: tuple[str, ...]
    partitions: tuple[PartitionLoss, ...] = ()

    @property
    def is_none(self) -> bool:
        """True when every device takes its change while it runs, nothing has less, and no job loses a node."""
        keeps_all = not self.standing and not self.partitions and not self.jobs
        return keeps_all and not any(impact.away for impact in self.waves)


def disturbance(
    plans: tuple[Plan | None, Plan],
    waves: Sequence[Wave],
    effects: Mapping[str, Effect],
    *,
    jobs: Sequence[RunningJob],
    notes: tuple[str, ...],
    first: int = 1,
) -> Disturbance:
    """The disturbance by ``waves``, on the plan that runs (the first of ``plans``; today's where none is known).

    ``first`` is the number of the first one.
    """
    before, after = plans
    runs = before if before is not None else after
    ways = ways_of(runs)
    drained = frozenset(device.name for device in runs.devices if device.kind == "switch" and device.state != "active")
    impacts = tuple(
        _impact(runs, ways, number, wave=wave, effects=effects, drained=drained)
        for number, wave in enumerate(waves, first)
    )
    standing = kept_after(before, after) if before is not None else {}
    partitions = lost_partitions(before, after) if before is not None else ()
    parted = _leaving(before, after) if before is not None else frozenset()
    for loss in partitions:
        if loss.ends_jobs:
            parted |= frozenset(loss.nodes)
    outlooks = [_job(runs, job, impacts, effects=effects, standing=standing, parted=parted) for job in jobs]
    met = tuple(job for job in outlooks if job.booting or job.interrupted or job.cut or job.slowed)
    untouched = tuple(outlook.job for outlook in outlooks if outlook not in met)
    return Disturbance(
        waves=impacts, standing=standing, jobs=met, untouched=untouched, notes=notes, partitions=partitions
    )


def _leaving(before: Plan, after: Plan) -> frozenset[str]:
    """The devices that go out of service: their ports are shut, also under running jobs."""
    states = {device.name: device.state for device in before.devices}
    gone = (device.name for device in after.devices if device.state == OUT_OF_SERVICE)
    return frozenset(name for name in gone if states.get(name, OUT_OF_SERVICE) != OUT_OF_SERVICE)


def _impact(
    plan: Plan, ways: RackWays, number: int, *, wave: Wave, effects: Mapping[str, Effect], drained: frozenset[str]
) -> WaveImpact:
    away = tuple(name for name in wave.devices if effects.get(name, Effect.LIVE) > Effect.LIVE)
    cables: dict[tuple[str, str], str] = {}  # the fabric of each cable, by its lower end
    for name in away:
        for cable in plan.cables_of.get(name, ()):
            if cable.in_service:
                cables[cable.a.device, cable.a.port] = cable.fabric
    gone = {*away, *drained} if away else set()
    usual = ways.losers(drained) if away and drained else {}
    losers = {
        rack: share
        for rack, share in ways.losers(gone).items()
        if rack not in wave.disturbed and share < usual.get(rack, 1.0)
    }
    switches = {
        plan.by_name[name].rack for name in away if name in plan.by_name and plan.by_name[name].kind == "switch"
    }
    cut = tuple(rack for rack in wave.disturbed if rack in switches)
    return WaveImpact(
        number=number,
        wave=wave,
        away=away,
        links=dict(sorted(Counter(cables.values()).items())),
        losers=losers,
        cut=cut,
    )


def _job(
    plan: Plan,
    job: RunningJob,
    impacts: Iterable[WaveImpact],
    *,
    effects: Mapping[str, Effect],
    standing: Mapping[str, float],
    parted: Collection[str],
) -> JobImpact:
    racks = {name: plan.by_name[name].rack for name in job.nodes if name in plan.by_name}
    booting = tuple(sorted(name for name in job.nodes if effects.get(name, Effect.LIVE) is Effect.REBOOT))
    interrupted = tuple(sorted(name for name in job.nodes if effects.get(name, Effect.LIVE) is Effect.RESTART))
    cut = {name for name in job.nodes if name in parted}
    slowed: set[str] = set()
    least, worst = 1.0, 0
    away = [(impact.number, impact.cut, impact.losers) for impact in impacts if impact.away]
    for number, racks_cut, shares in (*away, (AFTERWARDS, (), standing)):
        cut |= {name for name, rack in racks.items() if rack in racks_cut and name not in booting}
        cut |= {name for name, rack in racks.items() if shares.get(rack, 1.0) == 0}
        slower = {name for name, rack in racks.items() if 0 < shares.get(rack, 1.0) < 1}
        slowed |= slower
        lowest = min((shares[racks[name]] for name in slower), default=1.0)
        if lowest < least:
            least, worst = lowest, number
    return JobImpact(
        job=job,
        booting=booting,
        cut=tuple(sorted(cut)),
        slowed=tuple(sorted(slowed - cut)),
        least=least,
        worst_wave=worst,
        interrupted=interrupted,
    )
