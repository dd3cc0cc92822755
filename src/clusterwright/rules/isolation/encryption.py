"""CW54x: no path from storage to GPU memory in clear, and none that falls back to clear."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CLEAR, CLIENT_SIDE, KRB5P, MUTUAL_TLS, TLS, Protection
from clusterwright.spec.image import Image
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.zone_reach import owner_in_clear

TLS_KINDS = (MUTUAL_TLS, TLS)
RPC_KINDS = (*TLS_KINDS, KRB5P)
# What RPC-with-TLS asks of the kernel's NFS client (ktls-utils, README: Linux 6.5).
TLS_KERNEL = (6, 5)
TLS_UNIT, GSS_UNIT = "tlshd.service", "rpc-gssd.service"
# The kernels that distributions were released with.
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


@rule(
    code="CW540",
    severity=Severity.ERROR,
    title="mount that does not say what protects it",
    why="Nobody can tell whether its data crosses the network in clear.",
    mend="Give it a `protection`.",
    docs="`rpc-with-mtls` and `rpc-with-tls` encrypt every RPC by TLS, `krb5p` by Kerberos. With `client-side-aead`"
    " whoever wrote the data encrypted it and the reader's process decrypts it in memory; neither server nor network"
    " ever holds it in clear.",
)
def undeclared(subject: Subject) -> Iterator[Problem]:
    """Mounts without a protection."""
    for mount in subject.spec.mounts:
        if mount.protection is None:
            message = f"{mount.mountpoint} does not say what keeps its data from others on the network."
            yield Problem((*mount.path, "name"), message, "Add `protection: {kind: rpc-with-mtls}`, or another kind.")


@rule(
    code="CW541",
    severity=Severity.ERROR,
    title="dataset that crosses the network in clear",
    why="Whoever can tap one link or read one server's memory reads the data that was reviewed and encrypted.",
    mend="Choose a protection other than `none`.",
    docs="`none` is for mounts that no dataset lies on, such as home directories or packages; it needs a reason, and on"
    " nodes with GPUs lint names who answers for it ([CW558](CW558.md)).",
)
def in_clear(subject: Subject) -> Iterator[Problem]:
    """Mounts of datasets with protection none."""
    for mount, protection in _clear(subject.spec):
        data = next((dataset.name for dataset in subject.spec.datasets if dataset.mount == mount.name), None)
        if data is not None:
            message = f"Dataset {data} is read through {mount.mountpoint} in clear."
            hint = "Choose rpc-with-mtls, krb5p or client-side-aead."
            yield Problem((*protection.path, "kind"), message, hint)


@rule(
    code="CW558",
    severity=Severity.WARNING,
    title="path from storage to GPU memory in clear by a decision",
    why="Whoever can tap one link or read one server's memory reads the data.",
    mend="Encrypt it when whoever decided so can, or keep it as long as the reason holds.",
    docs="Storage of others often speaks NFS without TLS, or a protocol of its own that encrypts nothing. A spec says"
    " so: `protection: {kind: none, reason: ..., owner: ...}`. Without `owner` it is who owns the flow that carries the"
    " mount. `clusterwright verify` proves `encryption` of everything else and notes this with reason and owner. Data"
    " that was imported as a dataset is not carried so ([CW541](CW541.md)), and a spec that promises"
    " `encrypted-path` does not keep that promise.",
)
def decided_in_clear(subject: Subject) -> Iterator[Problem]:
    """Mounts of nodes with GPUs with protection none, with who answers for that."""
    spec = subject.spec
    with_gpus = {group.name for group in spec.node_groups if group.model.gpus is not None}
    for mount, protection in _clear(spec):
        reading = next((name for name in mount.nodes if name in with_gpus), None)
        if reading is not None and all(dataset.mount != mount.name for dataset in spec.datasets):
            who = owner_in_clear(spec, mount)
            message = f"{mount.mountpoint} reaches the GPUs of {reading} in clear: {protection.reason}"
            said = f"{message} ({who or 'nobody is named who'} answers for it)."
            hint = "Choose rpc-with-mtls, krb5p or client-side-aead, or keep it as long as the reason holds."
            yield Problem((*protection.path, "kind"), said, hint if who else "Name who decided so under `owner`.")


def _clear(spec: ClusterSpec) -> Iterator[tuple[Mount, Protection]]:
    for mount in spec.mounts:
        if mount.protection is not None and mount.protection.kind == CLEAR:
            yield mount, mount.protection


@rule(
    code="CW542",
    severity=Severity.ERROR,
    title="mount options against its protection",
    why="The mount would come up, with less protection than the spec says.",
    mend="Take the option away, or correct the protection.",
    docs="The renderer adds `xprtsec=` or `sec=` where the options leave it out; where they name another value, it is"
    " a contradiction. RPC-with-TLS runs over TCP alone: `proto=rdma` and `proto=udp` leave it behind.",
)
def contradicting_options(subject: Subject) -> Iterator[Problem]:
    """Options and file system types that do not carry the declared protection."""
    for mount in subject.spec.mounts:
        if mount.protection is None:
            continue
        kind, path = mount.protection.kind, (*mount.path, "options")
        if kind in RPC_KINDS and not mount.type.startswith("nfs"):
            message = f"{mount.mountpoint} is of type {mount.type}; {kind} belongs to NFS."
            yield Problem((*mount.protection.path, "kind"), message, "Choose client-side-aead.")
            continue
        options = dict(option.partition("=")[::2] for option in mount.options)
        name, value = WANTED_OPTION.get(kind, ("", ""))
        if name in options and options[name] != value:
            message = f"{mount.mountpoint} is to have {kind}, but asks for {name}={options[name]}."
            yield Problem(path, message, f'Write "{name}={value}", or leave it out.')
        if kind in TLS_KINDS and options.get("proto", "tcp") not in ("tcp", "tcp6"):
            message = f"{mount.mountpoint} is to have {kind}, which does not run over {options['proto']}."
            yield Problem(path, message, 'Write "proto=tcp".')
        if kind not in TLS_KINDS and options.get("xprtsec", "none") != "none":
            message = f"{mount.mountpoint} asks for xprtsec={options['xprtsec']}, but its protection is {kind}."
            yield Problem(path, message, "Correct the protection.")


@rule(
    code="CW543",
    severity=Severity.ERROR,
    title="RPC-with-TLS without what it runs on",
    why="Without tlshd, certificates or a kernel that knows `xprtsec` the mount fails, until somebody drops it.",
    mend="Use a kernel of 6.5 or later, leave tlshd unmasked, and name the files under `encryption.tls`.",
    docs="The kernel asks a daemon, tlshd of ktls-utils, to shake hands for it; images get it where a mount needs it."
    " Kernels before 6.5 refuse `xprtsec`. The distribution's own kernel counts where the image names no version."
    " Certificates are named once, in `encryption.tls`, and put there by whoever issues them.",
)
def tls_without_ground(subject: Subject) -> Iterator[Problem]:
    """Mounts with RPC-with-TLS on images without tlshd or with too old a kernel, and specs without files for it."""
    spec = subject.spec
    for mount in spec.mounts:
        if mount.protection is None or mount.protection.kind not in TLS_KINDS:
            continue
        if spec.encryption.tls is None:
            message = f"{mount.mountpoint} is to have {mount.protection.kind}; no certificate is named."
            yield Problem((*mount.protection.path, "kind"), message, "Add `encryption: {tls: ...}`.")
        for image in _images(spec, mount):
            if TLS_UNIT in image.masked_units:
                message = f"{image.name} masks {TLS_UNIT}, which {mount.mountpoint} needs."
                yield Problem((*image.path, "units", "mask"), message, "Take it out of `mask`.")
            version = _kernel_version(image)
            if version is not None and version < TLS_KERNEL:
                message = f"{image.name} has Linux {version[0]}.{version[1]}; {mount.mountpoint} needs 6.5 for TLS."
                named = image.kernel is not None and image.kernel.version is not None
                where = "kernel" if named else "distribution"
                yield Problem((*image.path, where), message, "Choose a kernel of 6.5 or later, or krb5p.")


def _images(spec: ClusterSpec, mount: Mount) -> Iterator[Image]:
    """The images of the nodes of a mount, each once."""
    groups = (spec.node_group(name) for name in mount.nodes)
    names = dict.fromkeys(group.image for group in groups if group is not None and group.image is not None)
    yield from (image for image in map(spec.image, names) if image is not None)


def _kernel_version(image: Image) -> tuple[int, int] | None:
    """Major and minor number of the kernel package's version, else of the distribution; None where neither tells."""
    text = DISTRIBUTION_KERNELS.get(image.distribution.lower(), "")
    if image.kernel is not None and image.kernel.version is not None:
        text = image.kernel.version
    parts = text.split("-")[0].split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


@rule(
    code="CW544",
    severity=Severity.ERROR,
    title="krb5p without a realm",
    why="Without a realm there is no ticket, and the mount fails or is changed to sec=sys.",
    mend="Add `encryption.kerberos`, and leave rpc.gssd unmasked.",
    docs="rpc.gssd of the distribution's NFS utilities gets tickets for the kernel; the node's own key lies in a keytab"
    " that whoever runs the realm puts there.",
)
def krb5p_without_realm(subject: Subject) -> Iterator[Problem]:
    """Mounts with krb5p in specs without Kerberos, or on images that mask rpc.gssd."""
    spec = subject.spec
    for mount in spec.mounts:
        if mount.protection is None or mount.protection.kind != KRB5P:
            continue
        if spec.encryption.kerberos is None:
            message = f"{mount.mountpoint} is to have krb5p; no realm is named."
            yield Problem((*mount.protection.path, "kind"), message, "Add `encryption: {kerberos: ...}`.")
        for image in _images(spec, mount):
            if GSS_UNIT in image.masked_units:
                message = f"{image.name} masks {GSS_UNIT}, which {mount.mountpoint} needs."
                yield Problem((*image.path, "units", "mask"), message, "Take it out of `mask`.")


@rule(
    code="CW545",
    severity=Severity.ERROR,
    title="GPUDirect Storage on encrypted data",
    why="Data that goes from the NIC straight into GPU memory passes no host that could decrypt it.",
    mend="Leave `gpudirect_storage` and the module nvidia_fs out.",
    docs="Every protection here is taken off by a host: by its kernel (TLS, Kerberos) or by a process (AEAD). Only data"
    " that crosses in clear could take the short way.",
)
def gpudirect_on_encrypted(subject: Subject) -> Iterator[Problem]:
    """Datasets that ask for GPUDirect Storage, and images that load its module, with a protected mount."""
    spec = subject.spec
    protected = {m.name: m for m in spec.mounts if m.protection is not None and m.protection.kind != CLEAR}
    for dataset in spec.datasets:
        if dataset.gpudirect_storage and dataset.mount in protected:
            message = f"{dataset.name} is encrypted on its way; GPUDirect Storage would bypass who decrypts it."
            yield Problem((*dataset.path, "gpudirect_storage"), message, "Leave it out.")
    loading = dict.fromkeys(image.name for mount in protected.values() for image in _images(spec, mount))
    for image in spec.images:
        if image.name in loading and GPUDIRECT_MODULE in image.modules:
            path = (*image.path, "modules", image.modules.index(GPUDIRECT_MODULE))
            yield Problem(path, f"{image.name} loads {GPUDIRECT_MODULE} and mounts encrypted data.", "Leave it out.")


@rule(
    code="CW551",
    severity=Severity.ERROR,
    title="dataset that was not reviewed or is not encrypted",
    why="Data comes in after a privacy review and encrypted, or it does not come in.",
    mend="Record the review; name the data key; or take the dataset out until both are there.",
    docs="This is the import gate's first half. The second stands on every node: the mount unit requires a check that"
    " refuses a dataset whose record is missing, incomplete or past its last day. Data under `client-side-aead` needs"
    " a data key, since nothing else protects it.",
)
def import_gate(subject: Subject) -> Iterator[Problem]:
    """Datasets without a review, and those without a data key."""
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
