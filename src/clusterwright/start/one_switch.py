"""A cluster of one switch for the GPUs and one for everything else: no uplinks, no routes between switches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from clusterwright.plan.ports import capacity
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.hardware.systems import system_of
from clusterwright.start.fit import Loads, fits
from clusterwright.start.frontend import management_tiers, needs_chip_settings
from clusterwright.start.sizing import MOST_NODES_IN_RACK, RACK_UNITS, lacking
from clusterwright.start.sizing_request import CannotSizeError, SizedTier, Sizing, SizingRequest

HEADS = 1  # for logins and the scheduler's controller


def size_one_switch(request: SizingRequest, catalogue: Catalogue, service: HardwareModel) -> Sizing:
    """Size a cluster on one switch for the GPUs' NICs and one for frontend NICs, each with the fewest rack units.

    Raises CannotSizeError, with the reason.
    """
    node = request.node_model
    backend, frontend, head = node.nic_group("backend"), node.nic_group("frontend"), service.nic_group("frontend")
    if backend is None or frontend is None or head is None:
        raise CannotSizeError(
            f"{node.name} has no NIC groups called backend and frontend, which init joins to networks."
            " Name another --node-model, or copy a reference with --from."
        )
    speed, links = backend.speed_gbps, request.nodes * len(backend.nics)
    leaf = _smallest(request.switches[:1] or _switches(catalogue, request.fabric), [(speed, links)])
    if leaf is None:
        raise CannotSizeError(
            f"{lacking(request)} {links} ports of {speed}G, one for each NIC of"
            f" {request.nodes} {node.name}. Take --no-one-switch."
        )
    frontend_loads = [
        (frontend.speed_gbps, request.nodes * len(frontend.nics)),
        (head.speed_gbps, HEADS * len(head.nics)),
    ]
    same_system_first = sorted(_switches(catalogue, "ethernet"), key=lambda model: model.network_os != leaf.network_os)
    front = _smallest(same_system_first, frontend_loads)
    if front is None:
        raise CannotSizeError(f"No Ethernet switch of the catalogue serves the frontend NICs of {request.nodes} nodes.")
    switches = [leaf, front]
    ports = request.nodes + HEADS + len(switches)
    management = management_tiers(ports, catalogue) if _needs_management(leaf) else ()
    if len(management) > 1:
        raise CannotSizeError(f"{ports} management ports need several switches. Take --no-one-switch.")
    switches += [tier.model for tier in management]
    return Sizing(
        backend=(_alone("leaf", leaf),),
        frontend=(_alone("tor", front),),
        management=management,
        rack_nodes=_nodes_in_rack(request, switches, service),
        pod_racks=1,
        storage_count=0,
        service_count=HEADS,
        is_on_one_switch=True,
    )


def _switches(catalogue: Catalogue, technology: str) -> list[HardwareModel]:
    return [model for model in catalogue.values() if model.blocks and technology in model.technology]


def _smallest(models: Iterable[HardwareModel], loads: Loads) -> HardwareModel | None:
    """The best model with ports for all ``loads``; None without one."""
    fitting = []
    for model in models:
        has_capacity = all(links <= capacity(model, (), speed) for speed, links in loads)
        if model.kind != "director" and has_capacity and fits(model, loads, 0, 0):
            fitting.append(model)
    return min(fitting, key=_rank, default=None)


def _rank(model: HardwareModel) -> tuple[bool, bool, float]:
    """Sort key: switches without vendor settings first, then those without a management network, then low ones."""
    return needs_chip_settings(model), _needs_management(model), model.units


def _needs_management(model: HardwareModel) -> bool:
    """True for switches managed over a port outside the fabrics of one switch (CW310)."""
    return "infiniband" in model.technology and system_of(model) is not None


def _alone(role: str, model: HardwareModel) -> SizedTier:
    return SizedTier(role=role, model=model, per="cluster", join="all", count=1, switches=1)


def _nodes_in_rack(request: SizingRequest, switches: Sequence[HardwareModel], service: HardwareModel) -> int:
    """Nodes in a rack: as many as fit beside the switches and the head, up to init's limit."""
    beside = sum(ceil(model.units) for model in switches) + HEADS * ceil(service.units)
    return max(1, min(request.nodes, MOST_NODES_IN_RACK, (RACK_UNITS - beside) // ceil(request.node_model.units)))
