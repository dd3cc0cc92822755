"""Files of monitoring programs: Prometheus, Grafana, gnmic, snmp_exporter, ANTA."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from clusterwright.extras.monitoring.collectors import gnmic_configuration, snmp_targets
from clusterwright.extras.monitoring.dashboards import dashboard
from clusterwright.extras.monitoring.neighbours import anta_catalogue, anta_inventory, expected_neighbours
from clusterwright.extras.monitoring.rules import alerting_rules
from clusterwright.lists.prometheus import target_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.extras.monitoring.neighbours import Neighbours
    from clusterwright.lists.records import Inventory


def monitoring_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """File name to its pieces. A site without telemetry, SNMP or switches for ANTA has no files for these."""
    neighbours = expected_neighbours(inventory)
    tested = anta_inventory(inventory)
    collected, snmp = gnmic_configuration(inventory), snmp_targets(inventory)
    files: dict[str, Iterable[str]] = {
        "targets.json": target_lines(inventory),
        "lldp.json": _device_lines(neighbours),
        "rules.yml": (_document(alerting_rules(inventory)),),
    }
    if collected is not None:
        files["gnmic.yml"] = _yaml_lines(collected)
    if snmp is not None:
        files["snmp-targets.json"] = ("[\n", ",\n".join(map(json.dumps, snmp)), "\n]\n")
    if tested["anta_inventory"]["hosts"]:
        files["anta-inventory.yml"] = _yaml_lines(tested)
        files["anta-catalogue.yml"] = _yaml_lines(anta_catalogue(inventory, tested, neighbours))
    for fabric in inventory.plan.spec.fabrics:
        files[f"dashboard-{fabric.name}.json"] = (json.dumps(dashboard(inventory, fabric), indent=1) + "\n",)
    return files


def _device_lines(neighbours: Neighbours) -> Iterator[str]:
    """A JSON object with a device a line."""
    yield "{"
    between = "\n"
    for device, ports in neighbours.items():
        neighbour_by_port: dict[str, dict[str, str]] = {}
        for port, (far_device, far_port) in ports.items():
            neighbour_by_port[port] = {"device": far_device, "port": far_port}
        yield f"{between}{json.dumps(device)}: {json.dumps(neighbour_by_port)}"
        between = ",\n"
    yield "\n}\n"


def _yaml_lines(document: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A long document, an item a line as JSON, YAML's flow style: a YAML writer takes ten times as long."""
    for key, value in document.items():
        if isinstance(value, dict) and value and not indent:
            yield f"{key}:\n"
            yield from _yaml_lines(value, "  ")
        elif isinstance(value, list) and value:
            yield f"{indent}{key}:\n"
            for item in value:
                yield f"{indent}- {json.dumps(item, ensure_ascii=False)}\n"
        else:
            name = json.dumps(key, ensure_ascii=False) if indent else key
            yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}\n"


def _document(document: Any) -> str:
    # Long lines: folded expressions are hard to compare.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, width=1000, default_flow_style=None))
