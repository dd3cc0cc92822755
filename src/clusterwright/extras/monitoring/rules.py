"""Recording rules and alerts for Prometheus: how much of each fabric answers, against what is planned."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.lists.records import Inventory

UP_RATIO = "fabric_tier:up:ratio"
UP_COUNT = "fabric_tier:up:count"
TRAFFIC = "fabric_tier:if_octets:rate5m"
ERRORS = "fabric_tier:if_errors:rate5m"


def alerting_rules(inventory: Inventory) -> dict[str, Any]:
    """The file of rules. The job that asks whether devices answer is called as the cluster is, and its targets are
    those of ``targets.json``; octets and errors are IF-MIB's, as snmp_exporter has them. Planned numbers stand in the
    alerts, so that what is never asked is missed too.
    """
    cluster = inventory.plan.name
    chosen = f'cluster="{cluster}", fabric!=""'
    asked = f'job="{cluster}", {chosen}'  # of one job: a device that several ask counts once
    by = "by (cluster, fabric, tier)"
    recording = [
        {"record": UP_RATIO, "expr": f"avg {by} (up{{{asked}}})"},
        {"record": UP_COUNT, "expr": f"sum {by} (up{{{asked}}})"},
        {"record": TRAFFIC, "expr": f"sum {by} (rate(ifHCInOctets{{{chosen}}}[5m]))"},
        {
            "record": ERRORS,
            "expr": f"sum {by} (rate(ifInErrors{{{chosen}}}[5m]) + rate(ifOutErrors{{{chosen}}}[5m]))",
        },
    ]
    alerts = [
        {
            "alert": "DeviceDown",
            "expr": f'up{{job="{cluster}", state="active"}} == 0',
            "for": "5m",
            "labels": {"severity": "warning"},
            "annotations": {"summary": "{{ $labels.instance }} in rack {{ $labels.rack }} does not answer."},
        },
        {
            "alert": "RackDark",
            "expr": f'count by (rack) (up{{job="{cluster}", rack!=""}} == 0)'
            f' == count by (rack) (up{{job="{cluster}", rack!=""}})',
            "for": "2m",
            "labels": {"severity": "critical"},
            "annotations": {"summary": "Nothing in rack {{ $labels.rack }} answers."},
        },
        {
            "alert": "OtherwiseThanPlanned",
            "expr": "sum by (device) (clusterwright_drift_differences) > 0",
            "for": "1h",
            "labels": {"severity": "warning"},
            "annotations": {"summary": "{{ $labels.device }} runs {{ $value }} things otherwise than planned."},
        },
        *_fewer_than_planned(inventory),
    ]
    return {
        "groups": [
            {"name": f"{cluster}-recorded", "interval": "1m", "rules": recording},
            {"name": f"{cluster}-alerts", "rules": alerts},
        ]
    }


def _fewer_than_planned(inventory: Inventory) -> Iterator[dict[str, Any]]:
    """For each tier, fewer switches that answer than are planned to; none at all is a number too."""
    reached = inventory.reachable_addresses()
    counted = Counter(
        (device.fabric, device.tier, device.role)
        for device in inventory.device_list
        if device.fabric and device.state == "active" and device.name in reached
    )
    for (fabric, tier, role), count in counted.items():
        chosen = f'cluster="{inventory.plan.name}", fabric="{fabric}", tier="{tier}"'
        yield {
            "alert": "FewerSwitchesThanPlanned",
            "expr": f"(sum({UP_COUNT}{{{chosen}}}) or vector(0)) < {count}",
            "for": "5m",
            "labels": {"severity": "critical", "fabric": fabric, "role": role},
            "annotations": {"summary": f"{{{{ $value }}}} of {count} {role} of {fabric} answer."},
        }
