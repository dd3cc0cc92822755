"""Planned encryption: protected mounts and links, and the files of TLS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Plan
from clusterwright.spec.encryption import CLEAR
from clusterwright.spec.zone_reach import owner_in_clear


def declared_protections(plan: Plan) -> Mapping[str, Mapping[str, str]]:
    """Kind of protection of every mount, by node and mount point; nodes of a group share theirs."""
    kinds_by_group: dict[str, dict[str, str]] = {}
    for mount in plan.spec.mounts:
        if mount.protection is None:
            continue
        for group in mount.nodes:
            kinds_by_group.setdefault(group, {})[mount.mountpoint] = mount.protection.kind
    protected = [device for device in plan.devices if device.node_group in kinds_by_group]
    return {device.name: kinds_by_group[device.node_group] for device in protected}


def mounts_in_clear(plan: Plan) -> Mapping[str, str]:
    """The spec's reason and the responsible owner, by mount point without protection."""
    reasons = {}
    for mount in plan.spec.mounts:
        if mount.protection is not None and mount.protection.kind == CLEAR:
            owner = owner_in_clear(plan.spec, mount) or "no owner"
            reasons[mount.mountpoint] = f"{mount.protection.reason} ({owner} is responsible for it)"
    return reasons


@dataclass(frozen=True, slots=True)
class DeclaredFileServer:
    """A server outside the spec behind a mount."""

    source: str
    """Mounted source in the form of nfs(5)."""
    name: str
    addresses: frozenset[str]
    """Addresses of its name in `/etc/hosts`; empty for a server mounted by its address."""


def declared_file_servers(plan: Plan) -> Mapping[str, Mapping[str, DeclaredFileServer]]:
    """Servers outside the spec, by node and mount point; nodes of a group share theirs."""
    servers_by_group: dict[str, dict[str, DeclaredFileServer]] = {}
    for mount in plan.spec.mounts:
        if mount.server is None:
            continue
        host = f"[{mount.server}]" if ":" in mount.server else mount.server
        server = DeclaredFileServer(
            source=f"{host}:{mount.export}",
            name=mount.server,
            addresses=frozenset(map(str, mount.addresses)),
        )
        for group in mount.nodes:
            servers_by_group.setdefault(group, {})[mount.mountpoint] = server
    servers = {}
    for device in plan.devices:
        if device.kind == "node" and device.node_group in servers_by_group and device.image is not None:
            servers[device.name] = servers_by_group[device.node_group]
    return servers


def declared_tls_files(plan: Plan) -> Mapping[str, str]:
    """Files of tlshd, by the option of its configuration."""
    tls = plan.spec.encryption.tls
    if tls is None:
        return {}
    files = {
        "x509.truststore": tls.truststore,
        "x509.certificate": tls.certificate,
        "x509.private_key": tls.private_key,
    }
    if tls.crl is not None:
        files["x509.crl"] = tls.crl
    return files


def encrypted_link_ends(plan: Plan) -> frozenset[tuple[str, str]]:
    """Device and port at both ends of cables above the tiers with a MACsec profile."""
    encrypted_tiers = set()
    for fabric in plan.spec.fabrics:
        for tier in fabric.tiers:
            if tier.up is not None and tier.up.macsec is not None:
                encrypted_tiers.add((fabric.name, tier.role))
    if not encrypted_tiers:
        return frozenset()
    ends = set()
    for cable in plan.cables:
        lower_tier = plan.lower_tier(cable)
        if lower_tier is not None and (cable.fabric, lower_tier.role) in encrypted_tiers:
            ends.add((cable.a.device, cable.a.port))
            ends.add((cable.b.device, cable.b.port))
    return frozenset(ends)
