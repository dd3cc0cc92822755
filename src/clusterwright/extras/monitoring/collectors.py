"""Targets of gnmic and snmp_exporter: switches at their management ports, labelled like targets of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.lists.records import Inventory, Record

_LABELS = ("fabric", "tier", "role", "pod", "rack")
# OpenConfig models: present on every switch with gNMI, and shown by the rules and dashboards.
_PATHS = ("/interfaces/interface/state/counters", "/interfaces/interface/state/oper-status", "/network-instances")


def gnmic_configuration(inventory: Inventory) -> dict[str, Any] | None:
    """Gnmic's targets, subscriptions and its output for Prometheus; None for a site without telemetry.

    Certificates have the names in the site's telemetry, in the working directory of gnmic.
    """
    telemetry = inventory.plan.spec.site.telemetry
    if telemetry is None:
        return None
    speaking = {name for name, system in systems().items() if system.speaks_gnmi}
    targets = {
        record["name"]: {"address": f"{_bracketed(record['management'])}:{telemetry.port}", "event-tags": _tags(record)}
        for record in _switches(inventory)
        if record["network_os"] in speaking
    }
    return {
        "tls-ca": f"{telemetry.authority}.pem",
        "tls-cert": "collector.pem",
        "tls-key": "collector.key",
        "encoding": "json_ietf",
        "targets": targets,
        "subscriptions": {
            "fabric": {"paths": list(_PATHS), "mode": "stream", "stream-mode": "sample", "sample-interval": "30s"}
        },
        "outputs": {"prometheus": {"type": "prometheus", "listen": ":9804", "event-processors": []}},
    }


def snmp_targets(inventory: Inventory) -> list[dict[str, Any]] | None:
    """Targets of snmp_exporter for ``file_sd_configs``, with the site's SNMP user (``auth``); None for a site without.

    The job passes ``__address__`` to the exporter as parameter ``target``, as in its README.
    """
    snmp = inventory.plan.spec.site.snmp
    if snmp is None:
        return None
    return [
        {
            "targets": [record["management"]],
            "labels": {
                "cluster": inventory.plan.name,
                "instance": record["name"],
                **_tags(record),
                "__param_auth": snmp.user,
                "__param_module": "if_mib",
            },
        }
        for record in _switches(inventory)
        if record["network_os"] in systems()
    ]


def _switches(inventory: Inventory) -> Iterator[Record]:
    return (device for device in inventory.devices() if device["kind"] == "switch" and device["management"] is not None)


def _tags(record: Record) -> dict[str, str]:
    return {name: str(record[name]) for name in _LABELS if record[name] is not None}


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
