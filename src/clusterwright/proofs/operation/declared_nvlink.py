"""Planned NVLink domains, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.model import Device, Plan
from clusterwright.plan.nvlink import nvlink_domains
from clusterwright.spec.hardware.accelerators import vendor_of


def declared_nvlink_domains(plan: Plan) -> Mapping[str, frozenset[str]]:
    """Nodes with an image and shared memory, by NVLink domain."""
    domains = {}
    for name, members in nvlink_domains(plan).items():
        running = frozenset(member.name for member in members if _shares_memory(plan, member))
        if running:
            domains[name] = running
    return domains


def _shares_memory(plan: Plan, device: Device) -> bool:
    gpus = plan.spec.catalogue[device.model].gpus
    vendor = vendor_of(gpus) if gpus is not None else None
    return device.image is not None and vendor is not None and vendor.memory_exchange is not None
