"""Plans of the reference specs, each built once, and of specs with something laid over them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clusterwright import data_files
from clusterwright.hosts.nccl.files import settings_by_node
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec


@cache
def plan_of(name: str) -> Plan:
    """The plan of ``inventory/<name>.yaml``."""
    return build_plan(load_spec(data_files.folder("inventory") / f"{name}.yaml"))


def plan_with(folder: Path, name: str, overlay: str) -> Plan:
    """The plan of ``inventory/<name>.yaml`` with ``overlay`` laid over it, written into ``folder``."""
    base = data_files.folder("inventory") / f"{name}.yaml"
    file = folder / "overlay.yaml"
    file.write_text(f"extends: {base}\n{overlay}")
    return build_plan(load_spec(file))


def nccl_values(plan: Plan) -> dict[str, str]:
    """What NCCL is told on the profile's nodes, where all are told the same."""
    (settings,) = settings_by_node(plan)
    return {setting.name: setting.value for setting in settings if not setting.environment}


# lab-roce as it can be built here: from Debian's mirrors alone, without what only a site has.
FROM_MIRRORS = """
images:
  - name: training
    repositories: [{name: site, remove: true}]
    packages: [ibverbs-utils, perftest, procps]
"""
