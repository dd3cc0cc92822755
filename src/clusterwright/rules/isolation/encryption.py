"""CW54x: no data in clear between storage and GPU memory or between buildings, and no encryption with a fallback."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CLEAR, CLIENT_SIDE, KRB5P, MUTUAL_TLS, TLS, Protection
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.image import Image
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.zone_reach import owner_in_clear

TLS_KINDS = (MUTUAL_TLS, TLS)
RPC_KINDS = (*TLS_KINDS, KRB5P)
# The first Linux with RPC-with-TLS in its NFS client (ktls-utils, README).
TLS_KERNEL = (6, 5)
TLS_UNIT, GSS_UNIT = "tlshd.service", "rpc-gssd.service"
# The kernel at the release of each distribution.
DISTRIBUTION_KERNELS = {
    "debian 11": "5.10",
    "debian 12": "6.1",
    "debian 13": "6.12",
    "ubuntu 22.04": "5.15",
    "ubuntu 24.04": "6.8",
    "centos stream 9": "5.14",
    "centos stream 10": "6.12",
    "rocky linux 9": "5.14",
}
WANTED_OPTION = {MUTUAL_TLS: ("xprtsec", "mtls"), TLS: ("xprtsec", "tls"), KRB5P: ("sec", "krb5p")}
GPUDIRECT_MODULE = "nvidia_fs"


@rule("CW540", Severity.ERROR)
def undeclared(subject: Subject) -> Iterator[Problem]:
    """Mounts without a protection."""
    for mount in subject.spec.mounts:
        if mount.protection is None:
            message = f"{mount.mountpoint} has no `protection`: its data may cross the network in clear text."
            yield Problem((*mount.path, "name"), message, "Add `protection: {kind: rpc-with-mtls}`, or another kind.")


@rule("CW541", Severity.ERROR)
def in_clear(subject: Subject) -> Iterator[Problem]:
    """Mounts of datasets with protection none."""
    for mount, protection in _clear(subject.spec):
        for dataset in subject.spec.datasets:
            if dataset.mount == mount.name:
                message = f"Dataset {dataset.name} is read through {mount.mountpoint} in clear text."
                hint = "Choose rpc-with-mtls, krb5p or client-side-aead."
                yield Problem((*protection.path, "kind"), message, hint)
                break


@rule("CW558", Severity.WARNING)
def decided_in_clear(subject: Subject) -> Iterator[Problem]:
    """Mounts of GPU nodes with protection none, with the person responsible."""
    spec = subject.spec
    with_gpus = {group.name for group in spec.node_groups if group.model.gpus is not None}
    for mount, protection in _clear(spec):
        gpu_groups = [name for name in mount.nodes if name in with_gpus]
        if not gpu_groups or any(dataset.mount == mount.name for dataset in spec.datasets):
            continue
        owner = owner_in_clear(spec, mount)
        if owner:
            responsibility = f"{owner} is responsible for it"
            hint = "Choose rpc-with-mtls, krb5p or client-side-aead, or keep it as long as the reason holds."
        else:
            responsibility = "no owner is named"
            hint = "Name the team that decided it under `owner`."
        message = f"{mount.mountpoint} reaches the GPUs of {gpu_groups[0]} in clear text: {protection.reason}"
        yield Problem((*protection.path, "kind"), f"{message} ({responsibility}).", hint)


def _clear(spec: ClusterSpec) -> Iterator[tuple[Mount, Protection]]:
    for mount in spec.mounts:
        if mount.protection is not None and mount.protection.kind == CLEAR:
            yield mount, mount.protection


@rule("CW542", Severity.ERROR)
def contradicting_options(subject: Subject) -> Iterator[Problem]:
    """Options and file system types not supporting the declared protection."""
    for mount in subject.spec.mounts:
        protection = mount.protection
        if protection is None:
            continue
        if protection.kind in RPC_KINDS and not mount.type.startswith("nfs"):
            message = f"{mount.mountpoint} is of type {mount.type}; {protection.kind} is for NFS."
            yield Problem((*protection.path, "kind"), message, "Choose client-side-aead.")
            continue
        yield from _wrong_options(mount, protection.kind)


def _wrong_options(mount: Mount, kind: str) -> Iterator[Problem]:
    path = (*mount.path, "options")
    options = dict(option.partition("=")[::2] for option in mount.options)
    name, value = WANTED_OPTION.get(kind, ("", ""))
    if name in options and options[name] != value:
        message = f"{mount.mountpoint} has the protection {kind}, but the option {name}={options[name]} sets another."
        yield Problem(path, message, f'Write "{name}={value}", or leave it out.')
    if kind in TLS_KINDS and options.get("proto", "tcp") not in ("tcp", "tcp6"):
        message = f"{mount.mountpoint} has the protection {kind}, which does not run over {options['proto']}."
        yield Problem(path, message, 'Write "proto=tcp".')
    if kind not in TLS_KINDS and options.get("xprtsec", "none") != "none":
        message = f"{mount.mountpoint} has the option xprtsec={options['xprtsec']}, but its protection is {kind}."
        yield Problem(path, message, "Correct the protection.")


@rule("CW543", Severity.ERROR)
def tls_without_ground(subject: Subject) -> Iterator[Problem]:
    """Mounts with RPC-with-TLS without certificates in the spec, without tlshd, or with too old a kernel."""
    spec = subject.spec
    for mount in spec.mounts:
        if mount.protection is None or mount.protection.kind not in TLS_KINDS:
            continue
        if spec.encryption.tls is None:
            message = f"{mount.mountpoint} has the protection {mount.protection.kind}, and no certificate is set."
            yield Problem((*mount.protection.path, "kind"), message, "Add `encryption: {tls: ...}`.")
        for image in _images(spec, mount):
            if TLS_UNIT in image.masked_units:
                yield _masked(image, TLS_UNIT, mount)
            version = _kernel_version(image)
            if version is not None and version < TLS_KERNEL:
                message = f"{image.name} has Linux {version[0]}.{version[1]}; {mount.mountpoint} needs 6.5 for TLS."
                has_kernel_version = image.kernel is not None and image.kernel.version is not None
                key = "kernel" if has_kernel_version else "distribution"
                yield Problem((*image.path, key), message, "Choose a kernel of 6.5 or later, or krb5p.")


def _masked(image: Image, unit: str, mount: Mount) -> Problem:
    message = f"{image.name} masks {unit}, which {mount.mountpoint} needs."
    return Problem((*image.path, "units", "mask"), message, "Remove it from `mask`.")


def _images(spec: ClusterSpec, mount: Mount) -> Iterator[Image]:
    """The images of a mount's nodes, each once."""
    names: dict[str, None] = {}
    for group_name in mount.nodes:
        group = spec.node_group(group_name)
        if group is not None and group.image is not None:
            names[group.image] = None
    for name in names:
        image = spec.image(name)
        if image is not None:
            yield image


def _kernel_version(image: Image) -> tuple[int, int] | None:
    """Major and minor number of the kernel, by the package's version or the distribution; None for an unknown one."""
    version = DISTRIBUTION_KERNELS.get(image.distribution.lower(), "")
    if image.kernel is not None and image.kernel.version is not None:
        version = image.kernel.version
    parts = version.split("-")[0].split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


@rule("CW544", Severity.ERROR)
def krb5p_without_realm(subject: Subject) -> Iterator[Problem]:
    """Mounts with krb5p in specs without Kerberos, or on images masking rpc.gssd."""
    spec = subject.spec
    for mount in spec.mounts:
        if mount.protection is None or mount.protection.kind != KRB5P:
            continue
        if spec.encryption.kerberos is None:
            message = f"{mount.mountpoint} has the protection krb5p, and no realm is configured."
            yield Problem((*mount.protection.path, "kind"), message, "Add `encryption: {kerberos: ...}`.")
        for image in _images(spec, mount):
            if GSS_UNIT in image.masked_units:
                yield _masked(image, GSS_UNIT, mount)


@rule("CW545", Severity.ERROR)
def gpudirect_on_encrypted(subject: Subject) -> Iterator[Problem]:
    """Datasets with GPUDirect Storage, and images loading its module, on a protected mount."""
    spec = subject.spec
    protected: dict[str, Mount] = {}
    for mount in spec.mounts:
        if mount.protection is not None and mount.protection.kind != CLEAR:
            protected[mount.name] = mount
    for dataset in spec.datasets:
        if dataset.gpudirect_storage and dataset.mount in protected:
            message = f"{dataset.name} is encrypted in transit; GPUDirect Storage bypasses the host that decrypts it."
            yield Problem((*dataset.path, "gpudirect_storage"), message, "Leave it out.")
    mounting_images: set[str] = set()
    for mount in protected.values():
        mounting_images.update(image.name for image in _images(spec, mount))
    for image in spec.images:
        if image.name in mounting_images and GPUDIRECT_MODULE in image.modules:
            path = (*image.path, "modules", image.modules.index(GPUDIRECT_MODULE))
            yield Problem(path, f"{image.name} loads {GPUDIRECT_MODULE} and mounts encrypted data.", "Leave it out.")


@rule("CW551", Severity.WARNING)
def import_gate(subject: Subject) -> Iterator[Problem]:
    """Datasets without a review or a data key."""
    spec = subject.spec
    kinds = {mount.name: mount.protection.kind for mount in spec.mounts if mount.protection is not None}
    for dataset in spec.datasets:
        path = (*dataset.path, "name")
        if dataset.review is None:
            message = f"{dataset.name} has no recorded privacy review; it must not be mounted."
            yield Problem(path, message, "Add `review: {reviewer: ..., date: ..., reference: ...}`.")
        if dataset.key is None:
            how = " by its readers" if kinds.get(dataset.mount) == CLIENT_SIDE else ""
            message = f"{dataset.name} names no data key, so it is not encrypted{how} at rest."
            yield Problem(path, message, "Name a key of kind data from `keys`.")


@rule("CW546", Severity.ERROR)
def building_links_in_clear(subject: Subject) -> Iterator[Problem]:
    """Uplinks leaving the building without MACsec."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            if tier.up is not None and tier.up.leaves_building and tier.up.macsec is None:
                message = f"Links of {fabric.name} above {tier.role} leave the building in clear text."
                yield Problem((*tier.up.path, "leaves_building"), message, "Add `macsec: PROFILE` beside it.")


@rule("CW547", Severity.ERROR)
def macsec_not_supported(subject: Subject) -> Iterator[Problem]:
    """Uplinks with a MACsec cipher not supported at both ends."""
    for skeleton in subject.skeleton.fabrics:
        for lower, upper in skeleton.joined_tiers():
            if lower.up is None or not lower.up.macsec:
                continue
            profile = subject.spec.encryption.profile(lower.up.macsec)
            if profile is None:
                continue
            for tier in (lower, upper):
                if not _encrypts(tier.model, profile.cipher):
                    message = f"{tier.role} is a {tier.model.name}, which does not encrypt with {profile.cipher}."
                    yield Problem((*lower.up.path, "macsec"), message, "Choose models with `macsec` at both ends.")


def _encrypts(model: HardwareModel, cipher: str) -> bool:
    system = system_of(model)
    return system is not None and system.has_macsec and cipher in model.macsec


@rule("CW548", Severity.ERROR)
def macsec_fails_open(subject: Subject) -> Iterator[Problem]:
    """MACsec profiles permitting unprotected traffic."""
    for profile in subject.spec.encryption.macsec:
        if profile.unprotected != "drop":
            message = f"Profile {profile.name} permits unencrypted frames."
            yield Problem((*profile.path, "unprotected"), message, "Write `unprotected: drop`.")
