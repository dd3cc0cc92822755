"""What machines need of each other: one table, derived from the spec.

Flows are checked against it, and pages show it: whoever has a machine ask another one adds a row here, and nothing
anywhere else lists ports by hand.
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
    """The whole table; ``group_of`` is the node group of every machine. Names that mean nothing are passed over."""
    sections = (site, booting, mounts, slurm, kueue, jobs, nvlink_domains, secrets, metrics, switches)
    needs = [need for section in sections for need in section(spec)]
    return (*needs, *mesh(spec, group_of), *deployment(spec, group_of))
