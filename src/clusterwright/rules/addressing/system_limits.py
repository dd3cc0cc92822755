"""CW322 and CW334: settings of fabrics outside the limits of their switch systems.

Servers, keys and names of the site not supported by a system are omitted for its switches alone (CW321, CW354).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.systems import System, system_of


def _run_by(tiers: Iterable[Tier]) -> tuple[System, ...]:
    switch_systems = {system for tier in tiers if (system := system_of(tier.model)) is not None}
    return tuple(sorted(switch_systems, key=lambda system: system.name))


@rule("CW322", Severity.ERROR)
def beyond_limits(subject: Subject) -> Iterator[Problem]:
    """Values of fabrics outside the limits of a switch system."""
    for fabric in subject.spec.fabrics:
        for system in _run_by(fabric.tiers):
            yield from _mtu_beyond(fabric, system)
            yield from _detection_beyond(fabric, system)


def _mtu_beyond(fabric: Fabric, system: System) -> Iterator[Problem]:
    if system.limits.mtu is None:
        return
    least, most = system.limits.mtu
    if not least <= fabric.mtu <= most:
        message = f"A port of {system.title} has an MTU of {least} to {most}, not {fabric.mtu}."
        yield Problem((*fabric.path, "mtu"), message, "Write a number between them.")


def _detection_beyond(fabric: Fabric, system: System) -> Iterator[Problem]:
    if not any(entry.priority is not None for entry in fabric.classes):
        return
    most, value = system.limits.pfc_detection_ms, fabric.pfc_watchdog.detection_ms
    if most is not None and value > most:
        yield Problem(
            (*fabric.path, "pfc_watchdog", "detection_ms"),
            f"{system.title}'s PFC watchdog accepts a detection time of at most {most} ms, not {value}.",
            f"Write {most} or less.",
        )


@rule("CW334", Severity.ERROR)
def has_no_word(subject: Subject) -> Iterator[Problem]:
    """Settings of fabrics not supported by a switch system."""
    for fabric in subject.spec.fabrics:
        for system in _run_by(fabric.tiers):
            yield from _classes_beyond(fabric, system)
    for skeleton in subject.skeleton.fabrics:
        yield from _speeds_beyond(skeleton)


def _speeds_beyond(skeleton: FabricSkeleton) -> Iterator[Problem]:
    """Ports at a speed without a keyword in the system of their switch."""
    speeds: dict[int, set[int]] = defaultdict(set)
    for number, seat in enumerate(skeleton.seats):
        speeds[seat.tier].update(skeleton.links_down[number])
    for depth, tier in enumerate(skeleton.fabric.tiers):
        if tier.up is not None:
            speeds[depth].add(tier.up.speed_gbps)
        system = system_of(tier.model)
        if system is None or not system.speeds_gbps:
            continue
        for speed in sorted(speeds[depth].difference(system.speeds_gbps)):
            yield Problem(
                (*tier.path, "model"),
                f"{tier.role} has ports at {speed}G, for which no published keyword of {system.title} is known "
                f"({system.speeds_source}).",
                f"Run them at {system.speeds_gbps[-1]}G or less, or give {tier.model.name} `network_os: external`.",
            )


def _classes_beyond(fabric: Fabric, system: System) -> Iterator[Problem]:
    lossless = [entry for entry in fabric.classes if entry.priority is not None]
    most, looks = system.limits.lossless_classes, system.limits.pfc_looks
    if most is not None and len(lossless) > most:
        message = f"{system.title} has {most} lossless class, not {len(lossless)}."
        yield Problem(lossless[most].path, message, "Remove the priority of the others.")
    if looks is None or not lossless:
        return
    times, place = fabric.pfc_watchdog, (*fabric.path, "pfc_watchdog")
    low, high = looks.every_ms
    if not low <= times.recovery_ms <= high:
        message = f"{system.title}'s PFC watchdog restores a queue after {low} to {high} ms, not {times.recovery_ms}."
        yield Problem((*place, "recovery_ms"), message, "Write a time between them.")
    elif times.detection_ms % times.recovery_ms or times.detection_ms // times.recovery_ms > looks.most:
        yield Problem(
            (*place, "detection_ms"),
            f"{system.title}'s PFC watchdog polls every {times.recovery_ms} ms (recovery_ms), and reports a queue stuck"
            f" after 1 to {looks.most:,} polls; {times.detection_ms} ms is not such a time.",
            "Write a multiple of recovery_ms.",
        )
