"""Requirements of a spec on the collective library of jobs, by node."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.model import Plan
from clusterwright.proofs.operation.declared_node_check import declared_vendor


def nccl_profiles(plan: Plan) -> dict[str, int]:
    """Nodes with an NCCL profile, each with the profile's number."""
    profile_of_group = {}
    for number, profile in enumerate(plan.spec.nccl_profiles):
        profile_of_group.update(dict.fromkeys(profile.nodes, number))
    nodes = (device for device in plan.devices if device.node_group in profile_of_group)
    return {node.name: profile_of_group[node.node_group] for node in nodes}


def library_environments(plan: Plan) -> dict[str, Mapping[str, str]]:
    """Variables leading the vendor's collective library to nccl.conf, by node with an NCCL profile."""
    environments: dict[str, Mapping[str, str]] = {}
    for group in plan.spec.node_groups:
        image = plan.spec.image(group.image or "")
        vendor = declared_vendor(group.model, image) if image is not None else None
        if vendor is not None and vendor.job_environment:
            environments[group.name] = vendor.job_environment
    if not environments:
        return {}
    nodes = (plan.by_name[name] for name in nccl_profiles(plan))
    return {node.name: environments[node.node_group] for node in nodes if node.node_group in environments}
