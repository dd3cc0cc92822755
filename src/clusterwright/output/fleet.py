"""Image of every node of a plan, by content, and bytes fetched at boot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from clusterwright.hosts.boot.newc import newc
from clusterwright.hosts.boot.script import boot_script
from clusterwright.hosts.boot.server import server_urls
from clusterwright.hosts.image.identity import ImageIdentity, files_beside, identity_of
from clusterwright.hosts.image.shared import overlay_files
from clusterwright.intent.image.packages import all_packages
from clusterwright.intent.node_nics import is_managed
from clusterwright.output.renderers import NODE_FILES
from clusterwright.plan.boot import boot_nics, booted, servers_by_rack
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.distribution import distribution_of


@dataclass(frozen=True, slots=True)
class Fetched:
    """Fetched bytes of the nodes of one image: ``image_bytes`` of the built image and its kernel, 0 before the
    measurement.

    ``shared_bytes`` are the nodes' common files. ``overlay_bytes`` and ``script_bytes`` are those of the largest
    sampled node: samples are the first and the last node of each pod.
    """

    identity: ImageIdentity
    nodes: int
    packages: int
    image_bytes: int
    shared_bytes: int
    overlay_bytes: int
    script_bytes: int

    @property
    def each_bytes(self) -> int:
        """Bytes fetched by a node to boot into memory."""
        return self.image_bytes + self.shared_bytes + self.overlay_bytes + self.script_bytes


def node_images(plan: Plan) -> Mapping[str, ImageIdentity]:
    """The identity of every node's image, by node, in plan order, without nodes that have no image.

    A node with another ``boot_digest`` in a second plan has to reboot; with only another ``digest`` it takes the change
    while running.
    """
    images: dict[str, ImageIdentity] = {}
    for device in plan.devices:
        identity = identity_of(plan, device.image or "", NODE_FILES) if is_managed(device) else None
        if identity is not None:
            images[device.name] = identity
    return images


def fetched(plan: Plan) -> tuple[Fetched, ...]:
    """Fetched files by image, in the spec's order; empty without boot servers."""
    by_image: dict[str, list[Device]] = {}
    for node in booted(plan):
        by_image.setdefault(node.image or "", []).append(node)
    files_by_image = []
    for name, nodes in by_image.items():
        files = _fetched(plan, name, nodes)
        if files is not None:
            files_by_image.append(files)
    return tuple(files_by_image)


def _fetched(plan: Plan, name: str, nodes: list[Device]) -> Fetched | None:
    image, identity = plan.spec.image(name), identity_of(plan, name, NODE_FILES)
    distribution = distribution_of(image.distribution) if image is not None else None
    if image is None or identity is None or distribution is None:
        return None
    pods: dict[str, list[Device]] = {}
    for node in nodes:
        pods.setdefault(node.pod, []).append(node)
    samples: list[Device] = []
    for nodes_of_pod in pods.values():
        samples += [nodes_of_pod[0], nodes_of_pod[-1]]
    racks, urls = servers_by_rack(plan), server_urls(plan)
    servers = {rack: tuple(urls[name] for name in names if name in urls) for rack, names in racks.items()}
    scripts = [boot_script(node.name, image, distribution, identity, servers[node.rack]) for node in samples]
    return Fetched(
        identity=identity,
        nodes=len(nodes),
        packages=len(all_packages(plan, image, distribution)),
        image_bytes=image.size_bytes or 0,
        shared_bytes=len(newc(files_beside(plan, name, NODE_FILES))),
        overlay_bytes=max(len(newc(overlay_files(plan, node, NODE_FILES))) for node in samples),
        script_bytes=max(len(script.encode()) for script in scripts),
    )


def planned_macs(plan: Plan) -> int:
    """Number of adapters on the boot fabric with a planned MAC address, unknown for a delivered adapter."""
    return sum(nic.is_planned for nic in chain.from_iterable(boot_nics(plan).values()))
