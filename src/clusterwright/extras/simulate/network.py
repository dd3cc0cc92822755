"""A planned fabric as arrays: its switches, its cables in service as pairs of directed links, and its nodes' NICs.

Link 2i is cable i upwards (from its ``a`` end), link 2i + 1 the same cable downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.hashing import TierHashing, planned_hashing
from clusterwright.plan.model import Cable, Device, Plan, fabric_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
HOST = -1


@dataclass(frozen=True, slots=True)
class Nics:
    """The NICs of a fabric.

    ``switch`` is the index of the switch at the other end, ``slice`` the NIC's place among that switch's host ports,
    ``up`` and ``down`` its two links, ``address`` the bytes of its IP address.
    """

    switch: Ints
    slice: Ints
    up: Ints
    down: Ints
    address: Bytes


@dataclass(frozen=True, slots=True)
class SimulatedNode:
    """A node available to jobs, with the number of its GPUs and the indexes of its NICs in rail order."""

    device: Device
    gpus: int
    nics: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FabricGraph:
    """One fabric. ``tail`` and ``head`` are the switches at a link's ends, HOST for a node; ``gbps`` its speed.

    ``hashing`` is the configured choice among equal paths on the switches of each tier.
    """

    fabric: str
    switches: tuple[Device, ...]
    tier: Ints
    cables: tuple[Cable, ...]
    tail: Ints
    head: Ints
    gbps: Floats
    nics: Nics
    nodes: tuple[SimulatedNode, ...]
    hashing: tuple[TierHashing, ...]
    is_adaptive: bool = False
    """Whether switches choose a path for each packet."""

    def link_name(self, link: int) -> str:
        """Both ends of a directed link, with their ports."""
        cable = self.cables[link // 2]
        near, far = (cable.b, cable.a) if link % 2 else (cable.a, cable.b)
        return f"{near.device} {near.port} > {far.device} {far.port}"

    def layer(self, link: int) -> tuple[int, int, str]:
        """The layer of a link: the tier of its upper end, 0 up or 1 down, and the roles at its ends in that order."""
        cable = self.cables[link // 2]
        upper = self.switches[self.head[link] if link % 2 == 0 else self.tail[link]].role
        below = self.tail[link] if link % 2 == 0 else self.head[link]
        lower = self.switches[below].role if below != HOST else "node"
        return cable.tier, link % 2, f"{upper} > {lower}" if link % 2 else f"{lower} > {upper}"


def fabric_to_simulate(plan: Plan, name: str | None) -> str:
    """The name of the requested fabric, else that of NCCL's profiles, else the first RoCE fabric.

    Raises ClusterwrightError for profiles on several fabrics, and for a fabric other than Ethernet with addresses:
    InfiniBand is not routed by hashes.
    """
    fabric_by_name = {fabric.name: fabric for fabric in plan.spec.fabrics}
    if name is None:
        roce = [fabric.name for fabric in plan.spec.fabrics if fabric.technology == "roce"]
        used = list(dict.fromkeys(profile.fabric for profile in plan.spec.nccl_profiles))
        chosen = [fabric for fabric in used if fabric in roce]
        if len(chosen) > 1:
            raise ClusterwrightError(f"NCCL's profiles use {' and '.join(chosen)}. Name one with --fabric.")
        name = (chosen or roce or used or [""])[0]
    if name not in fabric_by_name:
        there_are = ", ".join(fabric_by_name) or "none"
        raise ClusterwrightError(f'{plan.name} has no fabric "{name}" to simulate; fabrics: {there_are}.')
    if fabric_by_name[name].technology == "infiniband" or fabric_by_name[name].addressing is None:
        raise ClusterwrightError(
            f'Fabric "{name}" of {plan.name} is {fabric_by_name[name].technology}: its subnet manager routes'
            " by destination, not by hashes. Name a RoCE fabric with --fabric."
        )
    return name


def build_network(plan: Plan, fabric: str) -> FabricGraph:
    """The fabric as arrays, without nodes that are drained, have no GPUs or lack one of their NICs' cables.

    Raises KeyError for a fabric without addresses.
    """
    size = 4 if plan.address_version(fabric) == 4 else 16
    switches = tuple(device for device in plan.devices if device.kind == "switch" and device.fabric == fabric)
    index = {device.name: number for number, device in enumerate(switches)}
    planned = [cable for cable in plan.cables if cable.fabric == fabric and cable.b.device in index]
    cables = tuple(cable for cable in planned if cable.in_service)
    lower = np.array([index.get(cable.a.device, HOST) for cable in cables], np.int64)
    upper = np.array([index[cable.b.device] for cable in cables], np.int64)
    hosts = [(number, cable) for number, cable in enumerate(cables) if cable.a.side == "host"]
    slices = _slices(planned)
    host_switches = np.array([number for number, _ in hosts], np.int64)
    addresses = b"".join((cable.a.address or 0).to_bytes(size, "big") for _, cable in hosts)
    nics = Nics(
        switch=upper[host_switches],
        slice=np.array([slices[cable.b.device, cable.b.port] for _, cable in hosts], np.int64),
        up=2 * host_switches,
        down=2 * host_switches + 1,
        address=np.frombuffer(addresses, np.uint8).reshape(-1, size),
    )
    return FabricGraph(
        fabric=fabric,
        switches=switches,
        tier=np.array([device.tier for device in switches], np.int64),
        cables=cables,
        tail=np.stack([lower, upper], axis=1).ravel(),
        head=np.stack([upper, lower], axis=1).ravel(),
        gbps=np.repeat(np.array([cable.speed_gbps for cable in cables], np.float64), 2),
        nics=nics,
        nodes=_nodes(plan, planned, [cable for _, cable in hosts]),
        hashing=planned_hashing(plan, fabric),
        is_adaptive=fabric_of(plan, fabric).is_adaptive,
    )


def _slices(planned: list[Cable]) -> dict[tuple[str, str], int]:
    """The place of each host port among its switch's host ports, whether or not its cable is in service."""
    counts: dict[str, int] = {}
    slices = {}
    for cable in planned:
        if cable.a.side == "host":
            slices[cable.b.device, cable.b.port] = counts.setdefault(cable.b.device, 0)
            counts[cable.b.device] += 1
    return slices


def _nodes(plan: Plan, planned: list[Cable], hosts: list[Cable]) -> tuple[SimulatedNode, ...]:
    planned_nics: dict[str, int] = {}
    for cable in planned:
        if cable.a.side == "host":
            planned_nics[cable.a.device] = planned_nics.get(cable.a.device, 0) + 1
    nics: dict[str, list[int]] = {}
    for number, cable in enumerate(hosts):
        nics.setdefault(cable.a.device, []).append(number)
    nodes = []
    for name, node_nics in nics.items():
        device = plan.by_name[name]
        gpus = plan.spec.catalogue[device.model].gpus
        if gpus is not None and device.state == "active" and len(node_nics) == planned_nics[name]:
            nodes.append(SimulatedNode(device, gpus.count, tuple(node_nics)))
    return tuple(nodes)
