"""CW322: settings that SONiC's models do not take."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Path

# Bounds of sonic-dns.yang, sonic-ntp.yang, sonic-snmp.yang and sonic-pfcwd.yang.
MOST_SERVERS = {"dns": 3, "ntp": 10}
SNMP_USER_LENGTH = (4, 32)
LONGEST_DETECTION_MS = 5000


@rule(
    code="CW322",
    severity=Severity.ERROR,
    title="setting that SONiC does not take",
    why="SONiC refuses the whole configuration for one value out of bounds, or would run with another than the spec's.",
    mend="Keep to the bounds that the message names.",
    docs="Looked at where a tier's model runs SONiC: at most three name servers and ten time servers, SNMP users of 4"
    " to 32 characters, a PFC watchdog that finds a stuck queue within 5 s. The bounds are those of SONiC's published"
    " YANG models.",
)
def beyond_sonic(subject: Subject) -> Iterator[Problem]:
    """Values of the site and of fabrics with SONiC switches that the models refuse."""
    spec = subject.spec
    fabrics = [f for f in spec.fabrics if any(tier.model.network_os == "sonic" for tier in f.tiers)]
    if not fabrics:
        return
    for key, most in MOST_SERVERS.items():
        servers = getattr(spec.site.management, key)
        if len(servers) > most:
            own = ("site", "management", key)
            at: Path = (*(own if own in spec.document.values else ("site", key)), most)
            yield Problem(at, f"SONiC takes {most} {key} servers, not {len(servers)}.", "Leave the others out.")
    low, high = SNMP_USER_LENGTH
    if spec.site.snmp is not None and not low <= len(spec.site.snmp.user) <= high:
        message = f'the SNMP user "{spec.site.snmp.user}" has not {low} to {high} characters, as SONiC wants.'
        yield Problem((*spec.site.snmp.path, "user"), message, "Take another name.")
    for fabric in fabrics:
        value = fabric.pfc_watchdog.detection_ms
        if value > LONGEST_DETECTION_MS and any(entry.priority is not None for entry in fabric.classes):
            yield Problem(
                (*fabric.path, "pfc_watchdog", "detection_ms"),
                f"SONiC's PFC watchdog finds a stuck queue within {LONGEST_DETECTION_MS} ms, not {value}.",
                f"Write {LONGEST_DETECTION_MS} or less.",
            )
