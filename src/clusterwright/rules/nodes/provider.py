"""CW516, CW517, CW519: fabrics of a provider, and settings their nodes cannot have."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_nics
from clusterwright.spec.fabric import Attach, Fabric
from clusterwright.spec.image import NETWORK
from clusterwright.spec.model import ClusterSpec

_KEYS_OF_OWNERS = (
    "tiers",
    "addressing",
    "subnet_manager",
    "guids",
    "partitions",
    "pfc_watchdog",
    "balancing",
    "accepts_single_failures",
)
_KEYS_OF_RENTERS = ("addresses", "pkey_index")


@rule("CW516", Severity.ERROR)
def beyond_the_provider(subject: Subject) -> Iterator[Problem]:
    """Keys of a provider's fabric not supported by its technology, and networks without known addresses."""
    spec = subject.spec
    for fabric in spec.fabrics:
        for attach in fabric.attach:
            yield from _wrong_names(spec, fabric, attach)
        yield from _keys_of_the_other_owner(spec, fabric)
        if not fabric.is_provided:
            continue
        yield from _other_technology(fabric)
        if fabric.technology != "infiniband":
            yield from _network_without_addresses(spec, fabric)


def _keys_of_the_other_owner(spec: ClusterSpec, fabric: Fabric) -> Iterator[Problem]:
    keys: tuple[str, ...] = _KEYS_OF_RENTERS
    owner, change = "is yours", "write `owner: provider`."
    if fabric.is_provided:
        keys = _KEYS_OF_OWNERS
        owner, change = "is the provider's", "`owner: provider`."
    written = spec.document.at(fabric.path)
    for key in keys:
        if key in written:
            message = f"{fabric.name} {owner}: `{key}` has no effect."
            yield Problem((*fabric.path, key), message, f"Remove `{key}`, or {change}", key=True)


def _other_technology(fabric: Fabric) -> Iterator[Problem]:
    if fabric.technology == "infiniband":
        if fabric.addresses is not None:
            message = f"{fabric.name} is InfiniBand, whose adapters have no address of IP."
            yield Problem((*fabric.path, "addresses"), message, "Remove `addresses`.", key=True)
        return
    if fabric.pkey_index is not None:
        message = f"{fabric.name} is {fabric.technology}, which has no partition keys."
        yield Problem((*fabric.path, "pkey_index"), message, "Remove `pkey_index`.", key=True)
    if fabric.addresses is None:
        message = f"{fabric.name} has no `addresses`: where its adapters get their addresses is unknown."
        hint = "Add `addresses: dhcp`, or a CSV file with the provider's addresses."
        yield Problem((*fabric.path, "owner"), message, hint)


def _wrong_names(spec: ClusterSpec, fabric: Fabric, attach: Attach) -> Iterator[Problem]:
    """Adapter names on a fabric of one's own, too many of them, and lists of different length."""
    nics = attached_nics(spec, attach)
    for key, names in (("interfaces", attach.interfaces), ("rdma_devices", attach.rdma_devices)):
        if not names:
            continue
        if not fabric.is_provided:
            message = f"{fabric.name} is yours: its adapters have the names of their model."
            yield Problem((*attach.path, key), message, "Remove it, or write `owner: provider`.", key=True)
        elif nics is not None and len(names) != len(nics.nics):
            message = f"{len(names)} names for {len(nics.nics)} adapters of {nics.name}."
            yield Problem((*attach.path, key), message, "Write one name for each adapter in use, in both lists.")


def _network_without_addresses(spec: ClusterSpec, fabric: Fabric) -> Iterator[Problem]:
    attached = {attach.nodes for attach in fabric.attach}
    used = {group.image for group in spec.node_groups if group.name in attached}
    for image in spec.images:
        if image.name in used and image.owns(NETWORK):
            why = "is the provider's, with its own routes" if fabric.given else "gives addresses that are unknown"
            message = f"{image.name} sets up the network of its nodes, and {fabric.name} {why}."
            key = "takes" if image.takes else "delivery"
            hint = "Write `delivery: existing`, and `takes` without `network`: the provider's system has the addresses."
            yield Problem((*image.path, key), message, hint, key=True)


@rule("CW519", Severity.ERROR)
def given_addresses(subject: Subject) -> Iterator[Problem]:
    """Adapters on a provider's fabric missing in its address file, and lines for unknown adapters."""
    for fabric in subject.spec.fabrics:
        if fabric.given is None:
            continue
        ends = _adapters(subject, fabric)
        missing = [f"{device} {port}" for device, port in ends if (device, port) not in fabric.given.by_end]
        path = (*fabric.path, "addresses")
        if missing:
            message = f"{fabric.addresses} has no address of {and_more(missing, 4)}."
            yield Problem(path, message, "Write a line for each: device, port, address.")
        unplanned = [row for row in fabric.given.rows if (row.device, row.port) not in ends]
        if unplanned:
            rows = and_more([f"{row.device} {row.port} (line {row.line})" for row in unplanned], 4)
            message = f"{fabric.addresses} has {rows}, and no such adapter is on {fabric.name}."
            yield Problem(path, message, "Write the planned names: `clusterwright inventory` lists them.")


def _adapters(subject: Subject, fabric: Fabric) -> dict[tuple[str, str], None]:
    """The device and interface of each adapter on a fabric, in the plan's order."""
    spec = subject.spec
    interfaces: dict[str | None, list[str]] = {}
    for attach in fabric.attach:
        nics = attached_nics(spec, attach)
        if nics is not None:
            interfaces[attach.nodes] = [nic.interface for nic in nics.nics]
    ends: dict[tuple[str, str], None] = {}
    for node in subject.skeleton.layout.nodes:
        for interface in interfaces.get(spec.node_groups[node.node_group].name, ()):
            ends[node.name, interface] = None
    return ends


@rule("CW517", Severity.WARNING)
def names_of_the_catalogue(subject: Subject) -> Iterator[Problem]:
    """Catalogue names for adapters on a provider's fabric, on nodes installed by the provider."""
    spec = subject.spec
    for fabric in spec.fabrics:
        if not fabric.is_provided:
            continue
        for attach in fabric.attach:
            group = spec.node_group(attach.nodes or "")
            nics = attached_nics(spec, attach)
            if group is None or nics is None or group.image is None or attach.interfaces:
                continue
            names = ", ".join(nic.interface for nic in nics.nics)
            message = f"NCCL and the node check look for {names} on {group.name}, which are names of the catalogue."
            hint = f"Write what `ip link` lists there: `interfaces: [{len(nics.nics)} names]`."
            yield Problem((*attach.path, "nics"), message, hint)
