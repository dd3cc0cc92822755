"""CW322: settings beyond the bounds of a system that a switch of the spec runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Tier
from clusterwright.spec.hardware.systems import System, system_of
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path


def systems_of(spec: ClusterSpec) -> tuple[System, ...]:
    """The systems that the switches of a spec run, by name."""
    return _run_by(tier for fabric in spec.fabrics for tier in fabric.tiers)


def _run_by(tiers: Iterable[Tier]) -> tuple[System, ...]:
    found = {system for tier in tiers if (system := system_of(tier.model)) is not None}
    return tuple(sorted(found, key=lambda system: system.name))


@rule(
    code="CW322",
    severity=Severity.ERROR,
    title="setting that a switch does not take",
    why="A system refuses the whole configuration for one value out of bounds, or runs with another than the spec's.",
    mend="Keep to the bounds that the message names.",
    docs="The bounds are those of each system's published models; they stand under inventory/systems. SONiC takes at"
    " most three name servers and ten time servers, SNMP users of 4 to 32 characters, and a PFC watchdog that finds a"
    " stuck queue within 5 s.",
)
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
