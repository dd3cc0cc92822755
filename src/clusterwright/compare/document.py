"""A comparison as one JSON document, complete: nothing is shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from clusterwright.compare.changes import CableChanges, CableMove, ConfigGroup, PlanChanges
from clusterwright.plan.model import Cable, Device, Interface


def document(changes: PlanChanges, configs: Sequence[ConfigGroup] | None) -> dict[str, Any]:
    """The comparison as JSON types; ``configuration`` is null if it was not compared."""
    devices = changes.devices
    return {
        "before": changes.before,
        "after": changes.after,
        "same": not changes and not configs,
        "isolation": asdict(changes.isolation),
        "devices": {
            "added": [_device(device) for device in devices.added],
            "removed": [_device(device) for device in devices.removed],
            "renamed": dict(devices.renamed),
            "changed": [asdict(item) for item in devices.changed],
        },
        "cables": [_cables(fabric) for fabric in changes.cables],
        "addresses": [asdict(item) for item in changes.addresses],
        "configuration": None if configs is None else [asdict(group) for group in configs],
    }


def _device(device: Device) -> dict[str, Any]:
    return {"name": device.name, "role": device.role, "model": device.model, "rack": device.rack or None}


def _cables(fabric: CableChanges) -> dict[str, Any]:
    return {
        "fabric": fabric.fabric,
        "kept": fabric.kept,
        "moved": _moves(fabric.moved),
        "replaced": _moves(fabric.replaced),
        "removed": [_cable(cable) for cable in fabric.removed],
        "added": [_cable(cable) for cable in fabric.added],
        "stopped": [_cable(cable) for cable in fabric.stopped],
        "started": [_cable(cable) for cable in fabric.started],
    }


def _moves(moves: Sequence[CableMove]) -> list[dict[str, Any]]:
    return [{"ends": move.ends, "before": _cable(move.before), "after": _cable(move.after)} for move in moves]


def _cable(cable: Cable) -> dict[str, Any]:
    return {
        "a": _end(cable.a),
        "b": _end(cable.b),
        "speed_gbps": cable.speed_gbps,
        "medium": cable.medium,
        "length_m": cable.length_m,
    }


def _end(interface: Interface) -> dict[str, str]:
    return {"device": interface.device, "port": interface.port}
