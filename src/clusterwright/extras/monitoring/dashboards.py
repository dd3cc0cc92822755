"""A Grafana dashboard for each fabric: its answering devices, its traffic, its links with errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.extras.monitoring.rules import ERRORS, TRAFFIC, UP_RATIO

if TYPE_CHECKING:
    from clusterwright.lists.records import Inventory
    from clusterwright.spec.fabric import Fabric

_SCHEMA_VERSION = 39  # Grafana 11
_WIDTH, _HEIGHT = 24, 8  # Grafana's grid is 24 columns wide
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard(inventory: Inventory, fabric: Fabric) -> dict[str, Any]:
    """The dashboard of ``fabric`` for Grafana's import; its data source is chosen there."""
    cluster = inventory.plan.name
    chosen = f'cluster="{cluster}", fabric="{fabric.name}"'
    polled = f'job="{cluster}", fabric="{fabric.name}"'
    roles = ", ".join(f"{depth}: {tier.role}" for depth, tier in enumerate(fabric.tiers))
    panels = [
        _panel(
            "stat",
            f"Switches that answer, by tier ({roles})",
            f"{UP_RATIO}{{{chosen}}}",
            unit="percentunit",
            x=0,
            y=0,
            width=8,
        ),
        _panel(
            "timeseries",
            "Received by switches, by tier",
            f"8 * {TRAFFIC}{{{chosen}}}",
            unit="bps",
            x=8,
            y=0,
            width=16,
        ),
        _panel("timeseries", "Errors, by tier", f"{ERRORS}{{{chosen}}}", unit="cps", x=0, y=_HEIGHT, width=12),
        _panel(
            "timeseries",
            "Ports with most errors",
            f"topk(10, rate(ifInErrors{{{chosen}}}[5m]))",
            unit="cps",
            x=12,
            y=_HEIGHT,
            width=12,
            legend="{{instance}} {{ifName}}",
        ),
        _panel(
            "table",
            "Devices that do not answer",
            f"up{{{polled}}} == 0",
            unit="short",
            x=0,
            y=2 * _HEIGHT,
            width=_WIDTH,
        ),
    ]
    return {
        "uid": f"{cluster}-{fabric.name}"[:40],
        "title": f"{cluster}: {fabric.name}",
        "tags": ["clusterwright", cluster],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"type": "datasource", "name": "source", "label": "Data source", "query": "prometheus"}],
        },
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, 1)],
    }


def _panel(
    kind: str, title: str, expression: str, *, unit: str, x: int, y: int, width: int, legend: str = "tier {{tier}}"
) -> dict[str, Any]:
    return {
        "type": kind,
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": width, "h": _HEIGHT},
        "targets": [
            {
                "refId": "A",
                "datasource": _SOURCE,
                "expr": expression,
                "legendFormat": legend,
                "instant": kind == "table",
                "format": "table" if kind == "table" else "time_series",
            }
        ],
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "options": {},
    }
