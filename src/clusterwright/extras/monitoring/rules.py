"""Recording rules and alerts for Prometheus: the reachable part of each fabric, compared with the plan."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from clusterwright.lists.records import Inventory, Record

UP_RATIO = "fabric_tier:up:ratio"
UP_COUNT = "fabric_tier:up:count"
TRAFFIC = "fabric_tier:if_octets:rate5m"
ERRORS = "fabric_tier:if_errors:rate5m"

# An instance is a host name with optional domain and port; the host name alone is that of the device's page.
_DEVICE = '{{ reReplaceAll "[.:].*" "" $labels.instance }}'


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert, and its possible devices."""

    name: str
    expr: str
    wait: str
    """The duration of the expression before the alert fires."""
    severity: str
    summary: str
    """A template of Prometheus."""
    page: str
    """The page of `clusterwright report` on the subject of an alert, also a template."""
    concerns: Callable[[Record], bool]
    labels: Mapping[str, str] = field(default_factory=dict)

    def summary_of(self, record: Record) -> str:
        """The summary for one device, with "n" in place of values from Prometheus."""
        labels = {"instance": record["name"], "device": record["name"], "rack": record["rack"] or ""}
        text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels[match[1]], self.summary)
        return text.replace("{{ $value }}", "n")


def alerting_rules(inventory: Inventory) -> dict[str, Any]:
    """The file of rules.

    The Prometheus job for reachability has the name of the cluster and the targets of ``targets.json``; octets and
    errors are those of IF-MIB from snmp_exporter. Alerts contain planned counts, so they also fire for a device that is
    never polled. ``report`` is the page of the report on an alert's subject.
    """
    cluster = inventory.plan.name
    chosen = f'cluster="{cluster}", fabric!=""'
    polled = f'job="{cluster}", {chosen}'  # of one job: a device polled by several jobs counts once
    by = "by (cluster, fabric, tier)"
    recording = [
        {"record": UP_RATIO, "expr": f"avg {by} (up{{{polled}}})"},
        {"record": UP_COUNT, "expr": f"sum {by} (up{{{polled}}})"},
        {"record": TRAFFIC, "expr": f"sum {by} (rate(ifHCInOctets{{{chosen}}}[5m]))"},
        {
            "record": ERRORS,
            "expr": f"sum {by} (rate(ifInErrors{{{chosen}}}[5m]) + rate(ifOutErrors{{{chosen}}}[5m]))",
        },
    ]
    return {
        "groups": [
            {"name": f"{cluster}-recorded", "interval": "1m", "rules": recording},
            {
                "name": f"{cluster}-alerts",
                "rules": [_rule(alert, inventory.report_url) for alert in alerts(inventory)],
            },
        ]
    }


def _rule(alert: Alert, report_url: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.wait,
        "labels": {"severity": alert.severity, **alert.labels},
        "annotations": {"summary": alert.summary, "report": f"{report_url}{alert.page}"},
    }


def alerts(inventory: Inventory) -> tuple[Alert, ...]:
    """Every alert of a cluster."""
    cluster, polled = inventory.plan.name, frozenset(inventory.reachable_addresses())
    return (
        Alert(
            name="DeviceDown",
            expr=f'up{{job="{cluster}", state="active"}} == 0',
            wait="5m",
            severity="warning",
            summary="{{ $labels.instance }} in rack {{ $labels.rack }} does not answer.",
            page=f"devices/{_DEVICE}.html",
            concerns=lambda record: record["state"] == "active" and record["name"] in polled,
        ),
        Alert(
            name="RackDark",
            expr=f'count by (rack) (up{{job="{cluster}", rack!=""}} == 0)'
            f' == count by (rack) (up{{job="{cluster}", rack!=""}})',
            wait="2m",
            severity="critical",
            summary="Nothing in rack {{ $labels.rack }} answers.",
            page="racks/{{ $labels.rack }}.html",
            concerns=lambda record: record["rack"] is not None and record["name"] in polled,
        ),
        Alert(
            name="OtherwiseThanPlanned",
            expr="sum by (device) (clusterwright_drift_differences) > 0",
            wait="1h",
            severity="warning",
            summary="{{ $labels.device }} runs {{ $value }} things otherwise than planned.",
            page="devices/{{ $labels.device }}.html",
            concerns=lambda record: record["network_os"] in systems() or record["image"] is not None,
        ),
        *_fewer_than_planned(inventory, polled),
    )


def _fewer_than_planned(inventory: Inventory, polled: Collection[str]) -> Iterator[Alert]:
    """An alert for each tier with fewer reachable switches than planned, also with none."""
    counts: Counter[tuple[str, int, str]] = Counter()
    for device in inventory.device_list:
        if device.fabric and device.state == "active" and device.name in polled:
            counts[device.fabric, device.tier, device.role] += 1
    for (fabric, tier, role), count in counts.items():
        chosen = f'cluster="{inventory.plan.name}", fabric="{fabric}", tier="{tier}"'
        yield Alert(
            name="FewerSwitchesThanPlanned",
            expr=f"(sum({UP_COUNT}{{{chosen}}}) or vector(0)) < {count}",
            wait="5m",
            severity="critical",
            summary=f"{{{{ $value }}}} of {count} {role} of {fabric} answer.",
            page="devices.html",
            concerns=_in_tier((fabric, tier, role), polled),
            labels={"fabric": fabric, "role": role},
        )


def _in_tier(tier: tuple[str, int, str], polled: Collection[str]) -> Callable[[Record], bool]:
    def concerns(record: Record) -> bool:
        is_of_tier = (record["fabric"], record["tier"], record["role"]) == tier
        return is_of_tier and record["state"] == "active" and record["name"] in polled

    return concerns
