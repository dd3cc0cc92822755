"""NVLink domains: nodes at common switch trays of NVLink, one domain for each instance of the spec's level."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.model import Device, Plan


def nvlink_domains(plan: Plan) -> Mapping[str, tuple[Device, ...]]:
    """By group, the nodes of each NVLink domain in plan order, in any state."""
    members: dict[str, list[Device]] = {}
    for device in plan.devices:
        domain = nvlink_domain_of(plan, device)
        if domain is not None:
            members.setdefault(domain, []).append(device)
    return {domain: tuple(devices) for domain, devices in members.items()}


def nvlink_domain_of(plan: Plan, device: Device) -> str | None:
    """The group of nodes at a node's NVLink switch trays; None for a device outside of any."""
    group = plan.spec.node_group(device.node_group) if device.kind == "node" else None
    if group is None or group.nvlink_domain is None:
        return None
    for name in device.groups:
        if plan.group_by_name[name].level == group.nvlink_domain:
            return name
    return None
