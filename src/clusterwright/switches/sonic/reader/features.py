"""Running programs of SONiC's image, by FEATURE and the type of the device together.

A row of FEATURE missing in config_db.json is the image's own (init_cfg.json.j2 of sonic-net/sonic-buildimage), and so
is a state missing in a row: the system's data lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.hardware.systems import systems

SYSTEM = "sonic"  # as the catalogue names it
ON = frozenset({"enabled", "always_enabled"})
OFF = frozenset({"disabled", "always_disabled"})
Tables = Mapping[str, Mapping[str, Any]]


def runs(tables: Tables, name: str) -> bool | None:
    """Whether a program runs; None if that depends on the image or on an unknown state."""
    state = tables.get("FEATURE", {}).get(name, {}).get("state")
    if state is None:
        return runs_unasked(tables, name)
    if state in ON:
        return True
    return False if state in OFF else None


def runs_unasked(tables: Tables, name: str) -> bool | None:
    """Whether a program runs on a device of this type without a row of FEATURE; None if that varies."""
    service = systems()[SYSTEM].service(name)
    device_type = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", "")
    return None if service is None else service.runs_unasked(device_type)


def serves(tables: Tables, purpose: str) -> bool:
    """Whether every program needed for something runs for certain."""
    return all(runs(tables, name) is True for name in systems()[SYSTEM].services_for(purpose))
