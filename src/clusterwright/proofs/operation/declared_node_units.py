"""Planned names of a node's adapters, and the keys it waits for, from the plan and not from the renderers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.spec.encryption import KRB5P, MUTUAL_TLS, TLS
from clusterwright.spec.model import Mount

_AUTHORITIES = "/etc/pki/clusterwright/authorities.pem"
_WATCH_KEY = "/etc/credstore/isolation-watch"
_TLS_SERVICE, _LOGS, _WATCH = "tlshd.service", "rsyslog.service", "isolation-watch.service"
_TICKETS = ("gssproxy.service", "rpc-gssd.service")


@dataclass(frozen=True, eq=False, slots=True)
class DeclaredNames:
    """Adapters of nodes of one kind, by PCI address. One object for each kind."""

    interfaces: Mapping[str, str]
    rdma_devices: Mapping[str, str]
    has_rdma_fabric: bool
    """Whether an adapter with RDMA is on a fabric with RDMA."""


def declared_names(plan: Plan) -> Mapping[str, DeclaredNames]:
    """Names of the cabled adapters, by node with an image.

    Adapters without a known PCI address are left out.
    """
    names_by_kind: dict[tuple[object, ...], DeclaredNames] = {}
    names = {}
    for node in plan.devices:
        if node.kind != "node" or node.image is None:
            continue
        fabric_by_port = _host_ports(plan, node)
        kind = (node.model, *fabric_by_port.items())
        if kind not in names_by_kind:
            names_by_kind[kind] = _names(plan, node, fabric_by_port)
        names[node.name] = names_by_kind[kind]
    return names


def _host_ports(plan: Plan, node: Device) -> dict[str, str]:
    """Fabric of each cabled host adapter of a node, by port."""
    fabric_by_port = {}
    for cable in plan.cables_of[node.name]:
        if cable.a.device == node.name and cable.a.side == "host":
            fabric_by_port[cable.a.port] = cable.fabric
    return fabric_by_port


def _names(plan: Plan, node: Device, fabric_by_port: Mapping[str, str]) -> DeclaredNames:
    interfaces, devices = {}, {}
    has_rdma_fabric = False
    for group in plan.spec.catalogue[node.model].nic_groups:
        for nic in group.nics:
            fabric = fabric_by_port.get(nic.interface)
            if fabric is None:
                continue
            if nic.rdma_device is not None and fabric_of(plan, fabric).technology != "ethernet":
                has_rdma_fabric = True
            if nic.pci is None:
                continue
            interfaces[nic.pci] = nic.interface
            if nic.rdma_device is not None:
                devices[nic.pci] = nic.rdma_device
    return DeclaredNames(interfaces=interfaces, rdma_devices=devices, has_rdma_fabric=has_rdma_fabric)


Readers = Mapping[str, frozenset[tuple[str, str]]]
"""Actions by file on its arrival: ``start`` or ``restart``, and the unit or the mount point."""


def declared_credentials(plan: Plan) -> Mapping[str, Readers]:
    """Units reading keys, certificates and authorities, by node with a rendered system."""
    by_group: dict[str, Readers] = {}
    credentials = {}
    for node in plan.devices:
        image = plan.spec.image(node.image or "")
        if node.kind != "node" or image is None or image.is_existing:
            continue
        if node.node_group not in by_group:
            by_group[node.node_group] = _readers(plan, node.node_group)
        credentials[node.name] = by_group[node.node_group]
    return credentials


def _readers(plan: Plan, node_group: str) -> Readers:
    spec = plan.spec
    readers: dict[str, set[tuple[str, str]]] = {_WATCH_KEY: {("start", _WATCH)}}
    mounts = [mount for mount in spec.mounts if node_group in mount.nodes]
    over_tls, with_tickets = _protected(mounts, {MUTUAL_TLS, TLS}), _protected(mounts, {KRB5P})
    tls, kerberos = spec.encryption.tls, spec.encryption.kerberos
    if tls is not None and over_tls:
        started = {("start", unit) for unit in (_TLS_SERVICE, *over_tls)}
        for file in filter(None, (tls.truststore, tls.crl, tls.certificate, tls.private_key)):
            readers.setdefault(file, set()).update(started)
    if kerberos is not None and with_tickets:
        started = {("start", unit) for unit in (*_TICKETS, *with_tickets)}
        readers.setdefault(kerberos.keytab, set()).update(started)
    if spec.site.syslog:
        authority = _AUTHORITIES
        if spec.site.syslog_tls is not None:
            authority = spec.site.syslog_tls.authority
        elif tls is not None:
            authority = tls.truststore
        readers.setdefault(authority, set()).add(("restart", _LOGS))
    return {file: frozenset(units) for file, units in readers.items()}


def _protected(mounts: list[Mount], kinds: set[str]) -> list[str]:
    """Mount points with one of these ``kinds`` of protection."""
    mountpoints: list[str] = []
    for mount in mounts:
        kind = mount.protection.kind if mount.protection is not None else ""
        if kind in kinds:
            mountpoints.append(mount.mountpoint)
    return mountpoints
