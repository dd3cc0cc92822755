"""What watches a cluster, as files of the programs that do: Prometheus, Grafana, gnmic, snmp_exporter, ANTA."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from clusterwright.report.lists.prometheus import target_lines
from clusterwright.report.monitoring.collectors import gnmic_configuration, snmp_targets
from clusterwright.report.monitoring.dashboards import dashboard
from clusterwright.report.monitoring.neighbours import anta_catalogue, anta_inventory, expected_neighbours
from clusterwright.report.monitoring.rules import alerting_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.report.monitoring.neighbours import Neighbours
    from clusterwright.report.records import Inventory


def monitoring_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """File name to its pieces. What the site does not have (telemetry, SNMP, switches that ANTA tests) has no file."""
    neighbours = expected_neighbours(inventory)
    tested = anta_inventory(inventory)
    documents: dict[str, Any] = {
        "rules.yml": alerting_rules(inventory),
        "gnmic.yml": gnmic_configuration(inventory),
        "snmp-targets.json": snmp_targets(inventory),
        "anta-inventory.yml": tested if tested["anta_inventory"]["hosts"] else None,
        "anta-catalogue.yml": anta_catalogue(inventory, neighbours) if tested["anta_inventory"]["hosts"] else None,
        **{f"dashboard-{fabric.name}.json": dashboard(inventory, fabric) for fabric in inventory.plan.spec.fabrics},
    }
    texts = {name: (_text(name, document),) for name, document in documents.items() if document is not None}
    return {"targets.json": target_lines(inventory), "lldp.json": _device_lines(neighbours), **texts}


def _device_lines(neighbours: Neighbours) -> Iterator[str]:
    """A device a line."""
    yield "{"
    between = "\n"
    for device, ports in neighbours.items():
        heard = {port: {"device": other, "port": far} for port, (other, far) in ports.items()}
        yield f"{between}{json.dumps(device)}: {json.dumps(heard)}"
        between = ",\n"
    yield "\n}\n"


def _text(name: str, document: Any) -> str:
    if name.endswith(".json"):
        return json.dumps(document, indent=1) + "\n"
    # Long lines: an expression that is folded is hard to compare.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, width=1000, default_flow_style=None))
