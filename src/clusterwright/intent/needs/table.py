"""Needs between machines: one table, derived from the spec.

Flows are checked against it, and pages show it. A new connection between machines is a new row here; nothing else lists
ports by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.intent.needs.booting import booting
from clusterwright.intent.needs.hosts import deployment, mesh, metrics, mounts, secrets, site
from clusterwright.intent.needs.jobs import jobs, kueue, nvlink_domains, slurm
from clusterwright.intent.needs.need import Need
from clusterwright.intent.needs.switches import switches
from clusterwright.spec.model import ClusterSpec


def needs_of(spec: ClusterSpec, group_of: Mapping[str, str]) -> tuple[Need, ...]:
    """The whole table; ``group_of`` is the node group of every machine. Unknown names are passed over."""
    sections = (site, booting, mounts, slurm, kueue, jobs, nvlink_domains, secrets, metrics, switches)
    needs: list[Need] = []
    for section in sections:
        needs.extend(section(spec))
    return (*needs, *mesh(spec, group_of), *deployment(spec, group_of))
