"""IMEX on nodes at common NVLink switch trays: the members of a domain, and the connections between them.

Every node lists all of its domain, also those out of service, in one order: instances with different lists refuse each
other (NVIDIA, IMEX Service for NVLink Networks, Deployment Models).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.network import node_address
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.gpu_services import memory_exchange
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.plan.nvlink import nvlink_domain_of, nvlink_domains
from clusterwright.spec.hardware.accelerators import MemoryExchange
from clusterwright.text.templates import template

KIND = "node-memory-exchange"
FOLDER = "etc/nvidia-imex"
MEMBERS, SETTINGS = f"{FOLDER}/nodes_config.cfg", f"{FOLDER}/config.cfg"


def applies(plan: Plan, device: Device) -> bool:
    """Nodes of an NVLink domain with an image."""
    return is_managed(device) and _exchange(plan, device.node_group) is not None


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The members of a node's domain, an address a line."""
    domain = nvlink_domain_of(plan, device)
    if domain is None or _exchange(plan, device.node_group) is None:
        return
    yield Artifact(device.name, MEMBERS, _member_lists(plan)[domain], KIND)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """The settings of IMEX."""
    exchange = _exchange(plan, kind.node_group)
    if exchange is not None:
        text = template("node/imex.cfg.j2").render(exchange=exchange, members=f"/{MEMBERS}")
        yield SETTINGS, text.encode(), 0o644


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


def _exchange(plan: Plan, node_group: str) -> MemoryExchange | None:
    group = plan.spec.node_group(node_group)
    if group is None:
        return None
    return memory_exchange(group, plan.spec.image(group.image or ""))


@per_plan
def _member_lists(plan: Plan) -> Mapping[str, bytes]:
    """The list for all nodes of a domain, by domain."""
    lists = {}
    for domain, members in nvlink_domains(plan).items():
        addresses = (node_address(plan, member, (member.node_group,)) for member in members)
        lists[domain] = "".join(f"{address}\n" for address in addresses if address is not None).encode()
    return lists
