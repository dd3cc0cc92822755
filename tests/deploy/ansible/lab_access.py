"""How nodes of lab-roce are reached in network namespaces, and what these lack."""

from __future__ import annotations

from clusterwright.plan.model import Plan, format_address

# A network namespace lacks these: they belong to the whole machine, or to hardware.
EXEMPT = (
    "module:*",
    "sysctl:net.core.netdev_max_backlog",
    "sysctl:net.*.neigh.default.gc_thresh[123]",
    "sysctl:vm.*",
)


def frontend_address(plan: Plan, device: str) -> str:
    """The address of a device's first frontend NIC, which the packet filter lets the service node reach."""
    interface = next(cable.a for cable in plan.cables_of[device] if (cable.fabric, cable.a.port) == ("frontend", "fe0"))
    assert interface.address is not None
    return format_address(interface.address, plan.address_version("frontend"))
