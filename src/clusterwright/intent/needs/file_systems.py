"""File systems of storage appliances: their ports, and their clients on nodes.

Sources: RFC 8881 (NFSv4 on 2049), RFC 1833 and RFC 1813 (NFSv3 beside it asks the portmapper and mountd); the Lustre
manual (LNet accepts on TCP 988; servers and clients connect to each other, from ports below 1024, as AWS' guide to its
Lustre opens them; over its driver o2ib no port of IP is asked); WEKA's documentation, Prerequisites (14000 to 14100
between clients and backends, both ways).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.spec.ipoib import uses_rdma

if TYPE_CHECKING:
    from clusterwright.spec.model import Mount

NFS_PORT, PORTMAPPER, MOUNTD = 2049, 111, 20048
Ports = tuple[str, int, int, bool]
"""Protocol, first and last port, and whether servers ask nodes at these too."""

ROCE: tuple[Ports, ...] = (("udp", 4791, 4791, True),)  # IANA, roce


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A type of file system outside the kernel: its ``ports``, and its client in an image.

    ``packages`` are beginnings of names, one of which a package of the image has; ``unit`` has to run if the client
    comes by no package; ``vendor`` distributes it.
    """

    ports: tuple[Ports, ...]
    vendor: str
    packages: tuple[str, ...] = ()
    unit: str | None = None


FILE_SYSTEMS = {
    "lustre": FileSystem(
        (("tcp", 988, 988, True), ("tcp", 1018, 1023, True)), "DDN, Whamcloud and others", packages=("lustre-client",)
    ),
    "wekafs": FileSystem((("tcp", 14000, 14100, True), ("udp", 14000, 14100, True)), "WEKA", unit="weka-agent.service"),
}


def is_nfs(mount: Mount) -> bool:
    """Whether a mount is NFS, of any version."""
    return mount.type in ("nfs", "nfs4")


def ports_of(mount: Mount, *, over_infiniband: bool) -> tuple[Ports, ...]:
    """Ports of a mount's storage; none if they are unknown: any flow may carry it.

    NFS and Lustre use RDMA if both ends are on an InfiniBand fabric (``over_infiniband``): adapters decide whether
    packets or messages carry it. Elsewhere RDMA travels as RoCE, with requests from both ends.
    """
    options = {}
    for option in mount.options:
        name, _, value = option.partition("=")
        options[name] = value
    if uses_rdma(mount) or (is_nfs(mount) and options.get("proto") == "rdma"):
        return () if over_infiniband else ROCE
    if not is_nfs(mount):
        file_system = FILE_SYSTEMS.get(mount.type)
        return file_system.ports if file_system is not None else ()
    port = _number(options, "port", NFS_PORT)
    version = options.get("vers", options.get("nfsvers", "4"))
    is_third = mount.type == "nfs" and (version.startswith("3") or "v3" in options)
    if not is_third:
        return (("tcp", port, port, False),)
    ports = [("tcp", port, port, False)]
    if "mountport" not in options or "port" not in options:
        ports.append(("tcp", PORTMAPPER, PORTMAPPER, False))
    mountd = _number(options, "mountport", MOUNTD)
    ports.append(("tcp", mountd, mountd, False))
    return tuple(ports)


def _number(options: dict[str, str], name: str, usual: int) -> int:
    return int(options[name]) if options.get(name, "").isdecimal() else usual
