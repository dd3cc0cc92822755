"""Which programs of SONiC's image run, as FEATURE and the type of the device decide together.

A row of FEATURE that config_db.json leaves out is the image's own (init_cfg.json.j2 of sonic-net/sonic-buildimage),
and so is a state that a row leaves out: the system's data lists them.
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
    """Whether a program runs; None where that depends on the image or on a state that nobody here can evaluate."""
    state = tables.get("FEATURE", {}).get(name, {}).get("state")
    if state is None:
        return runs_unasked(tables, name)
    if state in ON:
        return True
    return False if state in OFF else None


def runs_unasked(tables: Tables, name: str) -> bool | None:
    """Whether a program runs on a device of this type when FEATURE has no row for it; None where that varies."""
    service = systems()[SYSTEM].service(name)
    device_type = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", "")
    return None if service is None else service.runs_unasked(device_type)


def serves(tables: Tables, purpose: str) -> bool:
    """Whether every program that something needs runs for certain."""
    return all(runs(tables, name) is True for name in systems()[SYSTEM].services_for(purpose))
