"""CW321, CW322 and CW334: settings beyond what systems of the spec's switches take, and those they have no word for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.systems import System, system_of
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path


def systems_of(spec: ClusterSpec) -> tuple[System, ...]:
    """The systems that the switches of a spec run, by name."""
    return _run_by(tier for fabric in spec.fabrics for tier in fabric.tiers)


def _run_by(tiers: Iterable[Tier]) -> tuple[System, ...]:
    found = {system for tier in tiers if (system := system_of(tier.model)) is not None}
    return tuple(sorted(found, key=lambda system: system.name))


@rule("CW322", Severity.ERROR)
def beyond_limits(subject: Subject) -> Iterator[Problem]:
    """Values of the site and of fabrics that a system of their switches refuses."""
    spec = subject.spec
    for system in systems_of(spec):
        limits = system.limits
        for key, most in (("dns", limits.dns_servers), ("ntp", limits.ntp_servers)):
            servers = getattr(spec.site.management, key)
            if most is not None and len(servers) > most:
                own = ("site", "management", key)
                at: Path = (*(own if own in spec.document.values else ("site", key)), most)
                message = f"{system.title} takes {most} {key} servers, not {len(servers)}."
                yield Problem(at, message, "Leave the others out.")
        snmp = spec.site.snmp
        if snmp is not None and limits.snmp_user is not None:
            low, high = limits.snmp_user
            if not low <= len(snmp.user) <= high:
                message = f'the SNMP user "{snmp.user}" has not {low} to {high} characters, as {system.title} wants.'
                yield Problem((*snmp.path, "user"), message, "Take another name.")
    for fabric in spec.fabrics:
        if not any(entry.priority is not None for entry in fabric.classes):
            continue
        for system in _run_by(fabric.tiers):
            most, value = system.limits.pfc_detection_ms, fabric.pfc_watchdog.detection_ms
            if most is not None and value > most:
                yield Problem(
                    (*fabric.path, "pfc_watchdog", "detection_ms"),
                    f"{system.title}'s PFC watchdog finds a stuck queue within {most} ms, not {value}.",
                    f"Write {most} or less.",
                )


@rule("CW334", Severity.ERROR)
def has_no_word(subject: Subject) -> Iterator[Problem]:
    """Settings of the site and of fabrics that a system of their switches cannot be told."""
    site = subject.spec.site
    for system in systems_of(subject.spec):
        limits = system.limits
        if site.aaa is not None and limits.aaa_servers is not None and len(site.aaa.servers) > limits.aaa_servers:
            message = f"{system.title} takes {limits.aaa_servers} AAA servers, not {len(site.aaa.servers)}."
            yield Problem((*site.aaa.path, "servers", limits.aaa_servers), message, "Leave the others out.")
    for fabric in subject.spec.fabrics:
        for system in _run_by(fabric.tiers):
            yield from _classes_beyond(fabric, system)


def _classes_beyond(fabric: Fabric, system: System) -> Iterator[Problem]:
    lossless = [entry for entry in fabric.classes if entry.priority is not None]
    most, looks = system.limits.lossless_classes, system.limits.pfc_looks
    if most is not None and len(lossless) > most:
        message = f"{system.title} has {most} lossless class, not {len(lossless)}."
        yield Problem(lossless[most].path, message, "Take the priority from the others.")
    if looks is None or not lossless:
        return
    times, at = fabric.pfc_watchdog, (*fabric.path, "pfc_watchdog")
    low, high = looks.every_ms
    if not low <= times.recovery_ms <= high:
        message = f"{system.title}'s PFC watchdog gives a queue back after {low} to {high} ms, not {times.recovery_ms}."
        yield Problem((*at, "recovery_ms"), message, "Write a time between them.")
    elif times.detection_ms % times.recovery_ms or times.detection_ms // times.recovery_ms > looks.most:
        yield Problem(
            (*at, "detection_ms"),
            f"{system.title}'s PFC watchdog looks every {times.recovery_ms} ms (recovery_ms), and finds a queue stuck"
            f" after 1 to {looks.most:,} looks; {times.detection_ms} ms is no such time.",
            "Write a multiple of recovery_ms.",
        )


@rule("CW321", Severity.ERROR)
def too_many_keys(subject: Subject) -> Iterator[Problem]:
    """Operators with more keys than the smallest switch keeps."""
    spec = subject.spec
    run = systems_of(spec)
    for operator in spec.site.operators:
        for system in run:
            most = system.limits.operator_keys
            if most is not None and len(operator.keys) > most:
                yield Problem(
                    (*operator.path, "keys", most),
                    f"{operator.name} has {len(operator.keys)} keys, and {system.title} keeps {most} of an account.",
                    f"Leave {most} keys, or write another operator for the others.",
                )
