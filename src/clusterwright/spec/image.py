"""Images of nodes, and their delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from clusterwright.spec.isolation import Prefix
from clusterwright.spec.labels.macs import MacFile, macs_named
from clusterwright.spec.reading import Reading
from clusterwright.spec.structuring import By, Key, Structuring, Text
from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the distribution or of a further repository; ``version`` None takes what the repository has."""

    name: str
    version: str | None

    @classmethod
    def read(cls, typing: Structuring, data: str | Mapping[str, str], path: Path) -> Package:
        """Written as ``nftables`` or ``nftables=1.1.3-1``, or by ``package`` and ``version``."""
        if not isinstance(data, str):
            return typing.fields(cls, {**data, "name": data["package"]}, path)
        name, _, version = data.partition("=")
        return cls(name, version or None)


@dataclass(frozen=True, slots=True)
class Repository:
    """Where packages come from: ``url``, for apt with ``suites`` and ``components``; ``key`` signs it.

    ``key`` is a file on the build host. A ``url`` that carries a date never changes what it offers.
    """

    name: str
    url: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    key: str
    path: Path


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver that the kernel does not bring, or that replaces the kernel's: its packages and its modules.

    ``is_built`` says that it is compiled against the image's kernel while the image is built (DKMS).
    """

    name: str
    version: str
    packages: tuple[Package, ...]
    modules: tuple[str, ...]
    is_built: Annotated[bool, Key("built")]
    path: Path


@dataclass(frozen=True, slots=True)
class Firmware:
    """The firmware that a device of a node must run; nodes refuse jobs with another one."""

    device: str
    version: str
    path: Path


@dataclass(frozen=True, slots=True)
class Hugepages:
    """Huge pages reserved at boot: ``count`` pages of ``size`` (``2M`` or ``1G``)."""

    size: str
    count: int


def _kib(_: Reading, written: int | str, __: Path) -> int | None:
    return None if written == "unlimited" else int(written)


@dataclass(frozen=True, slots=True)
class Containers:
    """Limits of job containers: locked memory in KiB (None: unlimited), /dev/shm, IPC namespace, devices.

    ``runtime`` is what starts them, ``folder`` where enroot unpacks their images.
    """

    memlock_kib: Annotated[int | None, Key("memlock"), By(_kib)]
    shm_size_gb: int
    ipc: str
    devices: tuple[str, ...]
    runtime: str
    folder: str
    path: Path


@dataclass(frozen=True, slots=True)
class GpuMetrics:
    """NVIDIA's DCGM and its exporter: its packages, the node group that asks it, and the TCP port."""

    packages: tuple[Package, ...]
    asked_by: str
    port: int
    path: Path


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge of containers, as Docker makes it on a node: its interface, and the networks of its containers."""

    name: str
    prefixes: tuple[Prefix, ...]
    path: Path


ADMINISTRATORS = frozenset({"sudo", "wheel"})
"""Debian's and Ubuntu's name of the group of administrators, and Red Hat's."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who logs in to nodes, with the public keys of the site's ``operators``.

    ``password`` names the secret that holds the hash of a password for the console; None: there is none.
    """

    name: str
    uid: int
    groups: tuple[str, ...]
    shell: str
    operators: tuple[str, ...]
    password: str | None
    path: Path

    @property
    def becomes_root(self) -> bool:
        """True for members of the group that distributions let become root, by either name."""
        return not ADMINISTRATORS.isdisjoint(self.groups)


@dataclass(frozen=True, slots=True)
class ImageCheck:
    """A command that a healthy node runs with exit status 0 within ``timeout_s`` seconds."""

    name: str
    run: str
    timeout_s: int
    path: Path


@dataclass(frozen=True, slots=True)
class Health:
    """Error counts up to which a node gets jobs, the interval of checks, and the checks left out with their reason.

    ``patience_s`` is how long one answer may take. Counts are since boot; ``link_errors_per_hour`` are symbol and check
    sequence errors that correction left.
    """

    interval_s: int
    patience_s: float
    clock_offset_ms: float
    link_downs: int
    link_errors_per_hour: float
    retransmissions_per_hour: float
    disk_wear_percent: int
    nvlink_errors: int
    uncorrected_ecc: int
    congestion_notifications: int
    lossless_drops: int
    leave_out: Mapping[str, str]


NCCL, SLURM, HEALTH, LIMITS, FILTER, NETWORK, ACCOUNTS, MOUNTS = (
    "nccl",
    "slurm",
    "health",
    "limits",
    "filter",
    "network",
    "accounts",
    "mounts",
)
PARTS = (NCCL, SLURM, HEALTH, LIMITS, FILTER, NETWORK, ACCOUNTS, MOUNTS)
"""What a deployment may own of a node that somebody else installed."""

USUAL_HEALTH = Structuring("cluster").fields(Health, {}, ("images", "health"))
"""Of nodes whose image says nothing of it."""


@dataclass(frozen=True, slots=True)
class Image:
    """Software of a node: packages, kernel and drivers of an operating system, and their settings.

    ``delivery`` is ``memory`` (fetched at every boot, nothing on disk), ``disk`` (installed once, on ``disks``: one, a
    mirror of two, or the smallest where none is named) or ``existing`` (somebody else's, with the parts in ``takes``).
    ``host_keys`` says where a node's SSH host key is kept, with ``{node}`` for its name; None lets each node make its
    own. ``size_bytes`` is what the built image and its kernel take as they are fetched, None while nobody measured it.
    """

    name: str
    distribution: str
    repositories: tuple[Repository, ...]
    kernel: Package | None
    packages: tuple[Package, ...]
    drivers: tuple[Driver, ...]
    firmware: tuple[Firmware, ...]
    modules: tuple[str, ...]
    blacklist: tuple[str, ...]
    module_options: Mapping[str, Text]
    sysctl: Mapping[str, Text]
    kernel_parameters: tuple[str, ...]
    hugepages: Hugepages | None
    limits: Mapping[str, Text]
    containers: Containers | None
    driver_by_site: str | None
    """Who brings the driver of GPUs where the image does not."""
    gpu_metrics: GpuMetrics | None
    enabled_units: Annotated[tuple[str, ...], Key("units", "enable")]
    masked_units: Annotated[tuple[str, ...], Key("units", "mask")]
    users: tuple[User, ...]
    checks: tuple[ImageCheck, ...]
    health: Health
    host_keys: str | None
    delivery: str
    disks: tuple[str, ...]
    size_bytes: int | None
    path: Path
    takes: tuple[str, ...] = ()
    """The parts that are taken of nodes which somebody else installed; empty for all."""
    bridges: tuple[Bridge, ...] = ()
    """The bridges whose containers the filter forwards packets of."""

    @property
    def is_existing(self) -> bool:
        """True for a system that somebody else installed: nothing builds, boots or replaces it."""
        return self.delivery == "existing"

    def owns(self, part: str) -> bool:
        """Whether deployments own a part of its nodes (``PARTS``)."""
        return not self.is_existing or not self.takes or part in self.takes

    @property
    def own_checks(self) -> tuple[ImageCheck, ...]:
        """The spec's own commands, but for those that it leaves out."""
        return tuple(check for check in self.checks if f"check-{check.name}" not in self.health.leave_out)


@dataclass(frozen=True, slots=True)
class Boot:
    """How nodes find their image: the node group of the boot servers, and the Ethernet fabric to ask them over.

    ``ipxe`` is where the servers keep iPXE for UEFI; None: where their distribution's package has it.
    ``macs`` are the addresses read from delivered adapters; those it leaves out have a planned one that none bears.
    """

    servers: str
    fabric: str
    ipxe: str | None
    macs: Annotated[MacFile | None, By(macs_named)]
    path: Path
