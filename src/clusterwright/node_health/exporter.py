"""Verdict in Prometheus' text format, for node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def metrics_of(verdict: Mapping[str, Any], finished_s: float, took_s: float) -> str:
    """Verdict as gauges; ``finished_s`` is Unix time. Reasons are no labels: each text would be a new series."""
    node = f'node="{_escaped(verdict["node"])}"'
    check_samples = []
    for result in verdict["checks"]:
        labels = f'{node},check="{_escaped(result["name"])}"'
        check_samples.append(f"clusterwright_node_check_ok{{{labels}}} {int(result['ok'])}")
    lines = [
        "# HELP clusterwright_node_healthy Whether every check of the node passed.",
        "# TYPE clusterwright_node_healthy gauge",
        f"clusterwright_node_healthy{{{node}}} {int(verdict['ok'])}",
        "# HELP clusterwright_node_check_ok Whether one check of the node passed.",
        "# TYPE clusterwright_node_check_ok gauge",
        *check_samples,
        "# HELP clusterwright_node_check_time_seconds When the checks were made, in Unix time.",
        "# TYPE clusterwright_node_check_time_seconds gauge",
        f"clusterwright_node_check_time_seconds{{{node}}} {finished_s:.3f}",
        "# HELP clusterwright_node_check_duration_seconds How long the checks took.",
        "# TYPE clusterwright_node_check_duration_seconds gauge",
        f"clusterwright_node_check_duration_seconds{{{node}}} {took_s:.3f}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
