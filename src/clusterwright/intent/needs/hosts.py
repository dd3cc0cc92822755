"""Needs of every machine with an image: the site's servers, storage, secrets, deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from clusterwright.intent.needs.file_systems import ports_of
from clusterwright.intent.needs.need import ANY, Need, Party, imaged, party_of, server_at
from clusterwright.spec.encryption import KRB5P
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.zone_reach import covers, fabric_around

VAULT_PORT, KERBEROS_PORT, SSH_PORT = 8200, 88, 22
SITE_PORTS = {"dns": ("udp", 53), "ntp": ("udp", 123), "syslog": ("tcp", 6514)}  # logs over TLS: RFC 5425
WHY = {"dns": "it resolves names", "ntp": "it serves the time", "syslog": "it keeps logs"}
_UNITS = {"dns": "systemd-resolved.service", "ntp": "chrony.service", "syslog": "rsyslog.service"}


def site(spec: ClusterSpec) -> Iterator[Need]:
    """Names, time and logs, of every machine with an image."""
    servers = {"dns": spec.site.dns, "ntp": spec.site.ntp, "syslog": spec.site.syslog}
    for group in imaged(spec):
        for who in party_of(spec, group.name):
            for key, (protocol, port) in SITE_PORTS.items():
                for index, text in enumerate(servers[key]):
                    whom, path = server_at(spec, text), ("site", key, index)
                    yield Need(
                        topic="site",
                        who=who,
                        whom=whom,
                        protocol=protocol,
                        low=port,
                        high=port,
                        why=WHY[key],
                        unit=_UNITS[key],
                        path=path,
                    )


def mounts(spec: ClusterSpec) -> Iterator[Need]:
    """File systems from their storage, and the storage's own connections to nodes."""
    images = {group.name: group.image for group in spec.node_groups}
    for mount in spec.mounts:
        for index, name in enumerate(mount.nodes):
            if not images.get(name):
                continue
            path, unit = (*mount.path, "nodes", index), f"the mount of {mount.mountpoint}"
            over_infiniband = mount.system is not None and meet_on_infiniband(spec, name, mount.system)
            for who, whom in product(party_of(spec, name), servers_of(spec, mount)):
                ports = ports_of(mount, over_infiniband=over_infiniband)
                for protocol, low, high, is_asked in ports or ((ANY, 0, 0, False),):
                    why = f"{mount.mountpoint} is mounted from it"
                    yield Need(
                        topic="mount",
                        who=who,
                        whom=whom,
                        protocol=protocol,
                        low=low,
                        high=high,
                        why=why,
                        unit=unit,
                        path=path,
                    )
                    if is_asked:
                        why = f"{mount.mountpoint} is mounted there, and its servers connect by themselves"
                        yield Need(
                            topic="mount",
                            who=whom,
                            whom=who,
                            protocol=protocol,
                            low=low,
                            high=high,
                            why=why,
                            unit=f"servers of {mount.mountpoint}",
                            path=path,
                        )


def servers_of(spec: ClusterSpec, mount: Mount) -> Iterator[Party]:
    """The storage group of a mount, or each address of its server outside of the spec and its networks."""
    if mount.system is not None:
        yield from party_of(spec, mount.system)
    for address in mount.server_addresses:
        if fabric_around(spec, address) is None:
            yield server_at(spec, str(address))


def meet_on_infiniband(spec: ClusterSpec, nodes: str, storage: str) -> bool:
    """Whether two node groups are attached to one fabric of InfiniBand."""
    for fabric in spec.fabrics:
        attached = {attach.nodes for attach in fabric.attach}
        if fabric.technology == "infiniband" and {nodes, storage} <= attached:
            return True
    return False


def secrets(spec: ClusterSpec) -> Iterator[Need]:
    """Host keys from their store, tickets for Kerberos mounts."""
    kerberos = spec.encryption.kerberos
    for group in imaged(spec):
        image = spec.image(group.image or "")
        for who in party_of(spec, group.name):
            if image is not None and image.host_keys is not None:
                whom, path = Party("the secret store", None), (*image.path, "host_keys")
                why, unit = "it keeps host keys", "ssh-host-key.service"
                yield Need(
                    topic="secrets",
                    who=who,
                    whom=whom,
                    protocol="tcp",
                    low=VAULT_PORT,
                    high=VAULT_PORT,
                    why=why,
                    unit=unit,
                    path=path,
                )
            if kerberos is not None and _uses_kerberos(spec, group.name):
                for index, host in enumerate(kerberos.kdcs):
                    whom, path = server_at(spec, host), (*kerberos.path, "kdcs", index)
                    why, unit = "it gives tickets of Kerberos", "gssproxy.service"
                    yield Need(
                        topic="secrets",
                        who=who,
                        whom=whom,
                        protocol="tcp",
                        low=KERBEROS_PORT,
                        high=KERBEROS_PORT,
                        why=why,
                        unit=unit,
                        path=path,
                    )


def _uses_kerberos(spec: ClusterSpec, node_group: str) -> bool:
    """Whether a mount of a group's nodes is protected by Kerberos."""
    protections = [mount.protection for mount in spec.mounts if node_group in mount.nodes]
    return any(protection is not None and protection.kind == KRB5P for protection in protections)


def metrics(spec: ClusterSpec) -> Iterator[Need]:
    """GPU metrics, collected by the monitoring servers."""
    for group in imaged(spec):
        image = spec.image(group.image or "")
        gpu_metrics = image.gpu_metrics if image is not None else None
        if gpu_metrics is None:
            continue
        for who, whom in product(party_of(spec, gpu_metrics.asked_by), party_of(spec, group.name)):
            why, path = "it exports GPU metrics", (*gpu_metrics.path, "asked_by")
            yield Need(
                topic="metrics",
                who=who,
                whom=whom,
                protocol="tcp",
                low=gpu_metrics.port,
                high=gpu_metrics.port,
                why=why,
                unit="Prometheus",
                path=path,
            )


def mesh(spec: ClusterSpec, group_of: Mapping[str, str]) -> Iterator[Need]:
    """Connections of the execution mesh, all opened by the controller."""
    mesh = spec.execution
    fabric = spec.fabric(mesh.fabric) if mesh is not None else None
    if mesh is None or fabric is None or not _is_filtered(spec, fabric):
        return
    named_groups: set[str] = set()
    for who in party_of(spec, group_of.get(mesh.controller, ""), fabric.name):
        for node in mesh.nodes:
            group = group_of.get(node.device, "")
            if group in named_groups:
                continue
            for whom in party_of(spec, group, fabric.name):
                named_groups.add(group)
                yield Need(
                    topic="mesh",
                    who=replace(who, name=mesh.controller),
                    whom=replace(whom, name=node.device),
                    protocol="tcp",
                    low=mesh.port,
                    high=mesh.port,
                    why="it waits there for work",
                    unit="receptor.service",
                    path=(*node.path, "device") if who.zones else (*mesh.path, "controller"),
                )


def _is_filtered(spec: ClusterSpec, fabric: Fabric) -> bool:
    return any(covers(spec, zone, fabric) for zone in spec.zones)


def deployment(spec: ClusterSpec, group_of: Mapping[str, str]) -> Iterator[Need]:
    """Delivery of files: from the execution nodes if the spec names them, else from an unknown host."""
    mesh = spec.execution
    senders: list[Party] = []
    if mesh is not None:
        for name in dict.fromkeys(group_of.get(node.device, "") for node in mesh.nodes):
            senders.extend(party_of(spec, name))
    if not senders:
        senders = [Party("the deploying machine", None)]
    for group in imaged(spec):
        for whom in party_of(spec, group.name):
            for who in senders:
                why, path = "files are deployed to it", (*group.path, "image")
                yield Need(
                    topic="deployment",
                    who=who,
                    whom=whom,
                    protocol="tcp",
                    low=SSH_PORT,
                    high=SSH_PORT,
                    why=why,
                    unit="ssh, Ansible",
                    path=path,
                )
