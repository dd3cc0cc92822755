"""CW518: container bridges indistinguishable from other interfaces of a node."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_nics
from clusterwright.spec.image import FILTER, Bridge, Image
from clusterwright.spec.isolation import Network
from clusterwright.spec.model import ClusterSpec


@rule("CW518", Severity.ERROR)
def bridges_of_containers(subject: Subject) -> Iterator[Problem]:
    """Bridges without effect on their nodes, and bridges with the name or addresses of something else."""
    spec = subject.spec
    for image in spec.images:
        if not image.bridges:
            continue
        if not image.is_existing or not image.owns(FILTER):
            message = f"{image.name} does not take over the filter of its nodes: `bridges` has no effect."
            hint = "Remove `bridges`, or write `delivery: existing` with `filter` in `takes`."
            yield Problem((*image.path, "bridges"), message, hint, key=True)
            continue
        interfaces = _interfaces(spec, image)
        if not interfaces:
            message = f"The nodes of {image.name} have no address on a fabric: no packet arrives for containers."
            yield Problem((*image.path, "bridges"), message, "Remove `bridges`.", key=True)
        names = {**interfaces, "lo": "the loopback"}
        networks = list(_networks(spec))
        for bridge in image.bridges:
            yield from _clash(bridge, names, networks)
            names[bridge.name] = "another bridge"


def _clash(bridge: Bridge, names: dict[str, str], networks: list[tuple[Network, str]]) -> Iterator[Problem]:
    """Conflicts of a bridge's name and prefixes; its prefixes join ``networks``."""
    if bridge.name in names:
        message = f"{bridge.name} is {names[bridge.name]} of these nodes."
        yield Problem((*bridge.path, "name"), message, "Write the bridge's name as `ip link` shows it.")
    for index, prefix in enumerate(bridge.prefixes):
        for network, holder in networks:
            if network.version == prefix.version and network.overlaps(prefix):
                message = f"{prefix} shares addresses with {network} of {holder}."
                hint = "Give the bridge addresses of its own: `bip` or `default-address-pools` in Docker's daemon.json."
                yield Problem((*bridge.path, "prefixes", index), message, hint)
                break
        networks.append((prefix, f"the bridge {bridge.name}"))


def _interfaces(spec: ClusterSpec, image: Image) -> dict[str, str]:
    """The interfaces with an address on an image's nodes, each with a phrase describing it."""
    groups = {group.name for group in spec.node_groups if group.image == image.name}
    interfaces: dict[str, str] = {}
    for fabric in spec.fabrics:
        if fabric.addressing is None:
            continue
        for attach in fabric.attach:
            nics = attached_nics(spec, attach) if attach.nodes in groups else None
            if nics is None:
                continue
            for nic in nics.nics:
                interfaces[nic.interface] = f"an adapter on {fabric.name}"
    return interfaces


def _networks(spec: ClusterSpec) -> Iterator[tuple[Network, str]]:
    """The address pools of fabrics and the prefixes of zones, each with its holder."""
    for fabric in spec.fabrics:
        if fabric.addressing is not None:
            for _, network in fabric.addressing.pools:
                yield network, fabric.name
    for zone in spec.zones:
        for network in zone.prefixes:
            yield network, f"zone {zone.name}"
