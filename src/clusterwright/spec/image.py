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
    """A package of the distribution or of a further repository; ``version`` None takes the repository's."""

    name: str
    version: str | None

    @classmethod
    def read(cls, typing: Structuring, data: str | Mapping[str, str], path: Path) -> Package:
        """Read ``nftables`` or ``nftables=1.1.3-1``, or ``package`` and ``version``."""
        if not isinstance(data, str):
            return typing.fields(cls, {**data, "name": data["package"]}, path)
        name, _, version = data.partition("=")
        return cls(name, version or None)


@dataclass(frozen=True, slots=True)
class Repository:
    """A source of packages: ``url``, for apt with ``suites`` and ``components``; ``key`` checks its signature.

    ``key`` is a file on the build host. A ``url`` with a date is a snapshot: its content never changes.
    """

    name: str
    url: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    key: str
    path: Path


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver missing in the kernel, or replacing the kernel's: its packages and its modules.

    ``is_built`` is true for compilation against the image's kernel during its build (DKMS).
    """

    name: str
    version: str
    packages: tuple[Package, ...]
    modules: tuple[str, ...]
    is_built: Annotated[bool, Key("built")]
    path: Path


@dataclass(frozen=True, slots=True)
class Firmware:
    """The required firmware of a device; nodes with another version refuse jobs."""

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

    ``runtime`` starts them, ``folder`` holds the images unpacked by enroot.
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
    """NVIDIA's DCGM and its exporter: its packages, the node group of its clients, and the TCP port."""

    packages: tuple[Package, ...]
    asked_by: str
    port: int
    path: Path


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge of containers on a node, such as Docker's: its interface, and the networks of its containers."""

    name: str
    prefixes: tuple[Prefix, ...]
    path: Path


ADMINISTRATORS = frozenset({"sudo", "wheel"})
"""The group of administrators on Debian and Ubuntu, and on Red Hat."""


@dataclass(frozen=True, slots=True)
class User:
    """A login account on nodes, with the public keys of the site's ``operators``.

    ``password`` names the secret with the hash of a console password; None without one.
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
        """True for members of a distribution's group of administrators."""
        return not ADMINISTRATORS.isdisjoint(self.groups)


@dataclass(frozen=True, slots=True)
class ImageCheck:
    """A command with exit status 0 within ``timeout_s`` seconds on a healthy node."""

    name: str
    run: str
    timeout_s: int
    path: Path


@dataclass(frozen=True, slots=True)
class Health:
    """Highest error counts of a node that gets jobs, the interval of checks, and skipped checks with their reason.

    ``patience_s`` is the time limit of one answer. Counts are since boot; ``link_errors_per_hour`` are symbol and check
    sequence errors left after correction.
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
"""The parts of an existing node that a deployment may manage."""

USUAL_HEALTH = Structuring("cluster").fields(Health, {}, ("images", "health"))
"""The default for images without an entry."""


@dataclass(frozen=True, slots=True)
class Image:
    """Software of a node: packages, kernel and drivers of an operating system, and their settings."""

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
    """The site's way of installing the GPU driver, if the image has none."""
    gpu_metrics: GpuMetrics | None
    enabled_units: Annotated[tuple[str, ...], Key("units", "enable")]
    masked_units: Annotated[tuple[str, ...], Key("units", "mask")]
    users: tuple[User, ...]
    checks: tuple[ImageCheck, ...]
    health: Health
    host_keys: str | None
    """Place of a node's SSH host key, with ``{node}`` for its name; None lets each node make one."""
    delivery: str
    """``memory`` (fetched at every boot, nothing on disk), ``disk`` (installed once) or ``existing`` (installed by its
    owner)."""
    disks: tuple[str, ...]
    """One disk, a mirror of two, or the smallest if none is named."""
    size_bytes: int | None
    """Fetched size of the built image and its kernel; None before a measurement."""
    path: Path
    takes: tuple[str, ...] = ()
    """The managed parts of existing nodes; empty for all."""
    bridges: tuple[Bridge, ...] = ()
    """The bridges with container traffic forwarded by the filter."""

    @property
    def is_existing(self) -> bool:
        """True for a system installed by its owner: it is never built, booted or replaced."""
        return self.delivery == "existing"

    def owns(self, part: str) -> bool:
        """Whether deployments manage a part of its nodes (``PARTS``)."""
        return not self.is_existing or not self.takes or part in self.takes

    @property
    def own_checks(self) -> tuple[ImageCheck, ...]:
        """The commands of the spec, without skipped ones."""
        return tuple(check for check in self.checks if f"check-{check.name}" not in self.health.leave_out)


@dataclass(frozen=True, slots=True)
class Boot:
    """Network boot of nodes: the node group of the boot servers, and the Ethernet fabric to reach them.

    ``ipxe`` is the path of iPXE for UEFI on the servers; None for that of their distribution's package. ``macs`` are
    the addresses read from delivered adapters; the other adapters have a planned one, unknown on any hardware.
    """

    servers: str
    fabric: str
    ipxe: str | None
    macs: Annotated[MacFile | None, By(macs_named)]
    path: Path
