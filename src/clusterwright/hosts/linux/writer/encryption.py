"""A node's files for decryption in memory alone: TLS and Kerberos for mounts, scratch, no swap, no core dumps."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.datasets import gate_files
from clusterwright.hosts.linux.writer.mounts import FOLDER, fstab, shared_fstab, unit_name
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.image.mounts import mounts_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.encryption import CLEAR, KRB5P, MUTUAL_TLS, TLS, Kerberos, Scratch, TlsFiles
from clusterwright.text.templates import template

KIND = "encryption"
TLSHD = "etc/tlshd/config"
FSTAB = "etc/clusterwright/fstab"
NO_SWAP = "no-swap.service"
File = tuple[str, str, int]


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image and protected data, or with a scratch disk."""
    return is_managed(device) and bool(_files(plan, device.node_group))


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """Configuration of tlshd or Kerberos, the import gate, scratch units, and settings to keep memory off the disks."""
    files = _files(plan, kind.node_group)
    for path, text, mode in files:
        yield path, text.encode(), mode
    mounts = shared_fstab(plan, kind) if files else None
    if mounts is not None:
        yield FSTAB, mounts.encode(), 0o644


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The mounts, if they differ between nodes."""
    mounts = fstab(plan, device)
    if mounts is not None:
        yield Artifact(device=device.name, path=FSTAB, source=mounts.encode(), kind=KIND)


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


@per_plan
def _files(plan: Plan, node_group: str) -> tuple[File, ...]:
    section = plan.spec.encryption
    mounts = mounts_of(plan, node_group)
    kinds = {mount.protection.kind for mount in mounts if mount.protection is not None}
    scratch = tuple(path for path in section.scratch if node_group in path.nodes)
    if not kinds - {CLEAR} and not scratch:
        return ()
    units: list[str] = [NO_SWAP]
    files: list[File] = []
    if kinds & {MUTUAL_TLS, TLS} and section.tls is not None:
        units.append("tlshd.service")
        files += _tls(section.tls)
    if KRB5P in kinds and section.kerberos is not None:
        units += ["gssproxy.service", "nfs-client.target"]
        files += _kerberos(plan.spec.site.domain, section.kerberos)
    files += gate_files(plan, mounts)
    for scratch_path in scratch:
        units.append(unit_name(scratch_path.mountpoint))
        files += _scratch(scratch_path)
    files += _memory_only()
    wants = template("encryption/wants.conf.j2").render(units=units)
    files.append((f"{FOLDER}/multi-user.target.d/91-encryption.conf", wants, 0o644))
    return tuple(files)


def _tls(tls: TlsFiles) -> Iterator[File]:
    yield TLSHD, template("encryption/tlshd.config.j2").render(tls=tls), 0o600
    named = [path for path in (tls.truststore, tls.crl, tls.certificate, tls.private_key) if path is not None]
    words = {"files": named, "config": TLSHD, "has_crl": tls.crl is not None}
    unit = template("encryption/tlshd.service.conf.j2").render(**words)
    yield f"{FOLDER}/tlshd.service.d/90-clusterwright.conf", unit, 0o644


def _kerberos(domain: str, kerberos: Kerberos) -> Iterator[File]:
    words = {"realm": kerberos.realm, "kdcs": kerberos.kdcs, "keytab": kerberos.keytab, "domain": domain}
    yield "etc/krb5.conf", template("encryption/krb5.conf.j2").render(**words), 0o644
    yield "etc/idmapd.conf", template("encryption/idmapd.conf.j2").render(**words), 0o644
    yield "etc/gssproxy/24-nfs-client.conf", template("encryption/gssproxy.conf.j2").render(**words), 0o600


def _scratch(scratch: Scratch) -> Iterator[File]:
    mapping = f"scratch-{scratch.name}"
    service, mount = f"{mapping}.service", unit_name(scratch.mountpoint)
    words = {"scratch": scratch, "mapping": mapping, "service": service, "mount_unit": mount}
    device = unit_name(scratch.device).removesuffix(".mount") + ".device"
    yield f"{FOLDER}/{service}", template("encryption/scratch.service.j2").render(device_unit=device, **words), 0o644
    yield f"{FOLDER}/{mount}", template("encryption/scratch.mount.j2").render(**words), 0o644


def _memory_only() -> Iterator[File]:
    yield "etc/modprobe.d/90-encryption.conf", template("encryption/modprobe.conf.j2").render(), 0o644
    yield (
        "etc/systemd/coredump.conf.d/90-clusterwright.conf",
        template("encryption/coredump.conf.j2").render(),
        0o644,
    )
    yield f"{FOLDER}/{NO_SWAP}", template("encryption/no-swap.service.j2").render(), 0o644
