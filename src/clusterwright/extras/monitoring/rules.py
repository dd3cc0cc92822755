"""Recording rules and alerts for Prometheus: the answering part of each fabric, compared with the plan."""

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

# An instance is a host name, with a domain and a port behind it: what is left names the device's page.
_DEVICE = '{{ reReplaceAll "[.:].*" "" $labels.instance }}'


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert, and the devices that it can be about."""

    name: str
    expr: str
    wait: str
    """How long the expression holds before the alert fires."""
    severity: str
    summary: str
    """A template of Prometheus."""
    page: str
    """The page of `clusterwright report` on the subject of an alert, a template too."""
    concerns: Callable[[Record], bool]
    labels: Mapping[str, str] = field(default_factory=dict)

    def summary_of(self, record: Record) -> str:
        """The summary as it reads for one device; values that only Prometheus has are "n"."""
        labels = {"instance": record["name"], "device": record["name"], "rack": record["rack"] or ""}
        text = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels[match[1]], self.summary)
        return text.replace("{{ $value }}", "n")


def alerting_rules(inventory: Inventory) -> dict[str, Any]:
    """The file of rules. The job that asks whether devices answer is called as the cluster is, and its targets are
    those of ``targets.json``; octets and errors are IF-MIB's, as snmp_exporter has them. Planned numbers stand in the
    alerts, so that a device that is never polled is missed too. ``report`` is the page of the report on an alert's
    subject.
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
    cluster, asked = inventory.plan.name, frozenset(inventory.reachable_addresses())
    return (
        Alert(
            name="DeviceDown",
            expr=f'up{{job="{cluster}", state="active"}} == 0',
            wait="5m",
            severity="warning",
            summary="{{ $labels.instance }} in rack {{ $labels.rack }} does not answer.",
            page=f"devices/{_DEVICE}.html",
            concerns=lambda record: record["state"] == "active" and record["name"] in asked,
        ),
        Alert(
            name="RackDark",
            expr=f'count by (rack) (up{{job="{cluster}", rack!=""}} == 0)'
            f' == count by (rack) (up{{job="{cluster}", rack!=""}})',
            wait="2m",
            severity="critical",
            summary="Nothing in rack {{ $labels.rack }} answers.",
            page="racks/{{ $labels.rack }}.html",
            concerns=lambda record: record["rack"] is not None and record["name"] in asked,
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
        *_fewer_than_planned(inventory, asked),
    )


def _fewer_than_planned(inventory: Inventory, asked: Collection[str]) -> Iterator[Alert]:
    """For each tier, fewer switches that answer than are planned to; none at all is a number too."""
    counted = Counter(
        (device.fabric, device.tier, device.role)
        for device in inventory.device_list
        if device.fabric and device.state == "active" and device.name in asked
    )
    for (fabric, tier, role), count in counted.items():
        chosen = f'cluster="{inventory.plan.name}", fabric="{fabric}", tier="{tier}"'
        yield Alert(
            name="FewerSwitchesThanPlanned",
            expr=f"(sum({UP_COUNT}{{{chosen}}}) or vector(0)) < {count}",
            wait="5m",
            severity="critical",
            summary=f"{{{{ $value }}}} of {count} {role} of {fabric} answer.",
            page="devices.html",
            concerns=_in_tier((fabric, tier, role), asked),
            labels={"fabric": fabric, "role": role},
        )


def _in_tier(tier: tuple[str, int, str], asked: Collection[str]) -> Callable[[Record], bool]:
    def concerns(record: Record) -> bool:
        is_of_tier = (record["fabric"], record["tier"], record["role"]) == tier
        return is_of_tier and record["state"] == "active" and record["name"] in asked

    return concerns
