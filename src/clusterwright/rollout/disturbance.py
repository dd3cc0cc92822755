"""Disturbance during a rollout: links, racks' bandwidth and jobs, wave by wave.

Bandwidth is computed as in ``bandwidth``; a device taking its change while it runs disturbs no other.
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
    """One wave, ``number`` from 1: ``away`` are the devices restarting or booting in it.

    ``links`` is the number of cables in service at them, by fabric. ``losers`` maps racks with less bandwidth to their
    remaining share, 0 to 1, except for racks changed in the wave. ``cut`` are changed racks with a switch of their own
    away.
    """

    number: int
    wave: Wave
    away: tuple[str, ...]
    links: Mapping[str, int]
    losers: Mapping[str, float]
    cut: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobImpact:
    """A job on the cluster during the change.

    ``booting`` are its rebooted nodes, ``interrupted`` nodes with their interfaces set up anew, ``cut`` nodes without
    any path on some fabric, ``slowed`` nodes in racks with less bandwidth; ``least`` is the least remaining share, in
    the wave ``worst_wave`` or, if that is AFTERWARDS, for as long as devices stay drained.
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
    """All effects of the change on links, racks and jobs.

    ``standing`` maps racks with less bandwidth afterwards, while devices stay drained, to their remaining share.
    ``untouched`` are jobs without any effect. ``notes`` name missing information. ``partitions`` are lost by nodes,
    with every connection in them.
    """

    waves: tuple[WaveImpact, ...]
    standing: Mapping[str, float]
    jobs: tuple[JobImpact, ...]
    untouched: tuple[RunningJob, ...]
    notes: tuple[str, ...]
    partitions: tuple[PartitionLoss, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether every device takes its change while it runs, without less bandwidth and without effects on jobs."""
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
    """The disturbance by ``waves`` on the deployed plan: the first of ``plans``, or the second if that is None.

    ``first`` is the number of the first wave.
    """
    before, after = plans
    deployed = before if before is not None else after
    ways = ways_of(deployed)
    switches = [device for device in deployed.devices if device.kind == "switch"]
    drained = frozenset(switch.name for switch in switches if switch.state != "active")
    impacts = [
        _impact(deployed, ways, number, wave=wave, effects=effects, drained=drained)
        for number, wave in enumerate(waves, first)
    ]
    standing = kept_after(before, after) if before is not None else {}
    partitions = lost_partitions(before, after) if before is not None else ()
    disconnected = _leaving(before, after) if before is not None else frozenset()
    for loss in partitions:
        if loss.ends_jobs:
            disconnected |= frozenset(loss.nodes)
    affected: list[JobImpact] = []
    untouched: list[RunningJob] = []
    for job in jobs:
        impact = _job(deployed, job, impacts, effects=effects, standing=standing, disconnected=disconnected)
        if impact.booting or impact.interrupted or impact.cut or impact.slowed:
            affected.append(impact)
        else:
            untouched.append(job)
    return Disturbance(
        waves=tuple(impacts),
        standing=standing,
        jobs=tuple(affected),
        untouched=tuple(untouched),
        notes=notes,
        partitions=partitions,
    )


def _leaving(before: Plan, after: Plan) -> frozenset[str]:
    """Devices going out of service: their ports are shut, also under running jobs."""
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
    down = {*away, *drained} if away else set()
    usual_shares = ways.losers(drained) if away and drained else {}
    other_racks = {rack: share for rack, share in ways.losers(down).items() if rack not in wave.disturbed}
    losers = {rack: share for rack, share in other_racks.items() if share < usual_shares.get(rack, 1.0)}
    devices_away = [plan.by_name[name] for name in away if name in plan.by_name]
    racks_of_switches = {device.rack for device in devices_away if device.kind == "switch"}
    cut = tuple(rack for rack in wave.disturbed if rack in racks_of_switches)
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
    disconnected: Collection[str],
) -> JobImpact:
    racks = {name: plan.by_name[name].rack for name in job.nodes if name in plan.by_name}
    booting = tuple(sorted(name for name in job.nodes if effects.get(name, Effect.LIVE) is Effect.REBOOT))
    interrupted = tuple(sorted(name for name in job.nodes if effects.get(name, Effect.LIVE) is Effect.RESTART))
    cut = {name for name in job.nodes if name in disconnected}
    slowed: set[str] = set()
    least, worst = 1.0, 0
    phases = [(impact.number, impact.cut, impact.losers) for impact in impacts if impact.away]
    for number, racks_cut, shares in (*phases, (AFTERWARDS, (), standing)):
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
