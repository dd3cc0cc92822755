"""NVIDIA's subnet manager under UFM: its own options, adaptive routing, and SHARP's aggregation manager.

A target of its own: option names of NVIDIA's subnet manager are unknown to the open one, and none of them stands in the
files of ``opensm``. UFM writes opensm.conf itself; the rendered values are to be set in it, by file. It writes
partitions.conf too, at every change of its model: the default partition from gv.cfg, and the additions of
partitions.conf.user_ext. The partitions.conf beside it is the required result of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.hosts.opensm.writer.configuration import (
    FOLDER_OF_UFM,
    HIGHEST_PRIORITY,
    manager_guids,
    manager_hosts,
    root_guids,
    storage_guids,
    subnet_files,
    subnet_of_ufm,
)
from clusterwright.hosts.opensm.writer.qos import QosView, qos_view
from clusterwright.intent.partitions import partition_views
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.subnet_sizes import SubnetSizes, subnet_sizes
from clusterwright.intent.traffic_classes import data_levels
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Device, Plan, format_guid
from clusterwright.spec.infiniband import SubnetManager
from clusterwright.text.templates import template

KIND = "ufm"
FOLDER = "opt/ufm/files/conf"
SHARP_FOLDER = f"{FOLDER}/sharp"
# Bits of the service levels whose packets switches may spray; all sixteen.
ALL_LEVELS = "0xFFFF"


@dataclass(frozen=True, slots=True)
class UfmView:
    """Values of UFM's files on one host; ``roots`` and ``radix`` (ports of the largest chip) size SHARP's trees."""

    fabric: str
    guid: str
    priority: int
    manager: SubnetManager
    subnet_prefix: str
    folder: str
    adaptive_levels: str
    has_storage: bool
    sharp_level: int
    roots: int
    radix: int
    qos: QosView | None
    sizes: SubnetSizes


def applies(plan: Plan, device: Device) -> bool:
    """The hosts that run UFM for a fabric."""
    return subnet_of_ufm(plan, device) is not None


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """UFM's files on one host."""
    subnet = subnet_of_ufm(plan, device)
    if subnet is None or subnet.fabric.subnet_manager is None:
        return
    fabric, manager = subnet.fabric, subnet.fabric.subnet_manager
    rank = manager_hosts(plan, fabric.name).index(device.name)
    view = UfmView(
        fabric=fabric.name,
        guid=format_guid(manager_guids(plan, subnet.name).get(device.name, 0)),
        priority=max(0, HIGHEST_PRIORITY - rank),
        manager=manager,
        subnet_prefix=format_guid(subnet.prefix),
        folder=f"/{FOLDER_OF_UFM}",
        adaptive_levels=ALL_LEVELS,
        has_storage=bool(storage_guids(plan, subnet.name)),
        sharp_level=next(iter(data_levels(plan.spec, fabric)), 0),
        roots=len(root_guids(plan, subnet.name)),
        radix=_radix(plan, fabric.name),
        qos=qos_view(fabric),
        sizes=subnet_sizes(plan, subnet.name),
    )
    names = {f"{FOLDER_OF_UFM}/opensm.conf": "opensm.conf.j2", f"{FOLDER}/gv.cfg": "gv.cfg.j2"}
    if manager.sharp:
        names[f"{SHARP_FOLDER}/sharp_am.cfg"] = "sharp_am.cfg.j2"
    for path, name in names.items():
        text = template(f"ufm/{name}").render(view=view)
        yield Artifact(device=device.name, path=path, source=text.encode(), kind=KIND)
    partitions = template("opensm/partitions.j2").render(partitions=partition_views(plan, subnet.name))
    yield Artifact(
        device=device.name,
        path=f"{FOLDER}/partitions.conf.user_ext",
        source=partitions.lstrip("\n").encode(),
        kind=KIND,
    )
    for path, content in subnet_files(plan, subnet.name, FOLDER_OF_UFM):
        yield Artifact(device=device.name, path=path, source=content, kind=KIND)


@per_plan
def _radix(plan: Plan, fabric_name: str) -> int:
    """The number of ports of a fabric's largest chip."""
    device_of_model = {}
    for device in plan.devices:
        if device.kind == "switch" and device.fabric == fabric_name and device.guid is not None:
            device_of_model[device.model] = device
    chips = chain.from_iterable(chips_of(plan, device) for device in device_of_model.values())
    return max((chip.ports for chip in chips), default=0)
