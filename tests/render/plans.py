"""Plans of the reference specs, each built once."""

from __future__ import annotations

from functools import cache

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec


@cache
def plan_of(name: str) -> Plan:
    """The plan of ``inventory/<name>.yaml``."""
    return build_plan(load_spec(data_files.folder("inventory") / f"{name}.yaml"))
