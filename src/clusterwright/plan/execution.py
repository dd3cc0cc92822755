"""Where the machines of the execution mesh answer."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.model import Plan, format_address


def mesh_addresses(plan: Plan) -> Mapping[str, str]:
    """The address of every machine of the mesh: that of its first NIC on the mesh's fabric."""
    mesh = plan.spec.execution
    if mesh is None:
        return {}
    version, members = plan.address_version(mesh.fabric), set(mesh.devices)
    found: dict[str, str] = {}
    for cable in plan.cables:
        near = cable.a
        if cable.fabric == mesh.fabric and near.device in members and near.side == "host" and near.address is not None:
            found.setdefault(near.device, format_address(near.address, version))
    return found
