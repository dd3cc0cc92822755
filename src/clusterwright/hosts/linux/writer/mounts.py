"""File systems mounted by nodes, as systemd mount units with their options pinned.

An NFS export written as a bare path gets its server: a member of its storage system, over which clients are spread in
turn, or the server outside of the spec. An export that names its server is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.datasets import gate_units
from clusterwright.intent.device_kind import NodeKind, kind_of
from clusterwright.intent.image.mounts import mounts_of, options_of
from clusterwright.intent.needs.file_systems import FILE_SYSTEMS
from clusterwright.intent.node_nics import is_managed, nics_of
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan, format_address
from clusterwright.spec.encryption import KRB5P, MUTUAL_TLS, TLS
from clusterwright.spec.model import Mount
from clusterwright.text.templates import template

KIND = "mounts"
FOLDER = "etc/systemd/system"
# The unit that each protection requires.
_UNITS = {MUTUAL_TLS: "tlshd.service", TLS: "tlshd.service", KRB5P: "rpc-gssd.service"}
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:_.")


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image and a mount."""
    return is_managed(device) and bool(mounts_of(plan, device.node_group))


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """A .mount unit for each mount from a single server, and a drop-in to tie all to remote-fs.target."""
    mounts = _servers_of(plan, kind)
    for mount, servers in mounts:
        if len(servers) == 1:
            yield _place(mount), _unit(plan, mount.mountpoint, kind.node_group, servers[0]), 0o644
    if mounts:
        drop_in = f"{FOLDER}/remote-fs.target.d/90-clusterwright.conf"
        yield drop_in, _drop_in(plan, kind.node_group), 0o644


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """A .mount unit for each mount with servers in turn."""
    for mount, servers in _servers_of(plan, kind_of(plan, device)):
        if len(servers) > 1:
            content = _unit(plan, mount.mountpoint, device.node_group, _turn(device, servers))
            yield Artifact(device=device.name, path=_place(mount), source=content, kind=KIND)


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


def fstab(plan: Plan, device: Device) -> str | None:
    """The mounts of a node, a line each, as in fstab; None if all of its kind have the same."""
    mounts = _servers_of(plan, kind_of(plan, device))
    if all(len(servers) == 1 for _, servers in mounts):
        return None
    return _fstab([(mount, _turn(device, servers)) for mount, servers in mounts])


def shared_fstab(plan: Plan, kind: NodeKind) -> str | None:
    """As ``fstab``, of every node of a kind; None with servers in turn."""
    mounts = _servers_of(plan, kind)
    if any(len(servers) > 1 for _, servers in mounts):
        return None
    return _fstab([(mount, servers[0]) for mount, servers in mounts])


def _fstab(mounts: Sequence[tuple[Mount, str | None]]) -> str:
    entries = []
    for mount, server in mounts:
        entry = {
            "what": _what(mount, server),
            "where": mount.mountpoint,
            "type": mount.type,
            "options": options_of(mount),
        }
        entries.append(entry)
    return template("encryption/fstab.j2").render(entries=entries)


def mounted(plan: Plan, device: Device) -> tuple[tuple[str, str, str], ...]:
    """Mount point, export and type of each mount of a node, as the spec writes them."""
    mounts = []
    for mount, servers in _servers_of(plan, kind_of(plan, device)):
        mounts.append((mount.mountpoint, _what(mount, _turn(device, servers)), mount.type))
    return tuple(mounts)


@per_plan
def _servers_of(plan: Plan, kind: NodeKind) -> tuple[tuple[Mount, tuple[str | None, ...]], ...]:
    """Every mount of a kind's nodes with the servers to take in turn.

    The only server is None for an export that names its server, and for a system without an address.
    """
    fabrics = tuple(dict.fromkeys(nic.fabric for nic in kind.nics if nic.version))
    servers_by_mount = []
    for mount in mounts_of(plan, kind.node_group):
        servers: tuple[str | None, ...] = ()
        if mount.server is not None:
            servers = (_with_brackets(mount.server),)
        elif mount.system is not None and _is_bare(mount):
            servers = _servers(plan, mount.system, fabrics)
        servers_by_mount.append((mount, servers or (None,)))
    return tuple(servers_by_mount)


def _turn(device: Device, servers: tuple[str | None, ...]) -> str | None:
    return servers[device.index % len(servers)]


def _place(mount: Mount) -> str:
    return f"{FOLDER}/{unit_name(mount.mountpoint)}"


def unit_name(mountpoint: str) -> str:
    """The only valid name of a mount point's unit (systemd.unit(5), string escaping for paths)."""
    path = "/".join(part for part in mountpoint.split("/") if part)
    if not path:
        return "-.mount"
    escaped = "".join(_escape(char) for char in path)
    if escaped.startswith("."):
        escaped = _hexadecimal(".") + escaped[1:]
    return f"{escaped}.mount"


def _escape(char: str) -> str:
    if char == "/":
        return "-"
    return char if char in _PLAIN else _hexadecimal(char)


def _hexadecimal(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


@per_plan
def _servers(plan: Plan, system: str, fabrics: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses of a storage system on its common fabrics with a node, as mount(8) writes them."""
    servers = []
    for device in plan.devices:
        if device.kind != "node" or device.node_group != system:
            continue
        for nic in nics_of(plan, device):
            if nic.fabric.name in fabrics and nic.address is not None:
                servers.append(_with_brackets(format_address(nic.address, nic.version)))
                break
    return tuple(servers)


def _with_brackets(server: str) -> str:
    """A server as nfs(5) has it before an export: an IPv6 address stands in brackets."""
    return f"[{server}]" if ":" in server else server


def _unit(plan: Plan, mountpoint: str, node_group: str, server: str | None) -> bytes:
    mount = next(mount for mount in mounts_of(plan, node_group) if mount.mountpoint == mountpoint)
    text = template("node/unit.mount.j2").render(
        description=f"{mount.served_by} at {mount.mountpoint}",
        requires=_required_units(plan, mount),
        what=_what(mount, server),
        where=mount.mountpoint,
        type=mount.type,
        options=options_of(mount),
    )
    return text.encode()


def _required_units(plan: Plan, mount: Mount) -> list[str]:
    """The units of a mount's protection, of its file system's client, and of the import gate."""
    required = []
    if mount.protection is not None and mount.protection.kind in _UNITS:
        required.append(_UNITS[mount.protection.kind])
    file_system = FILE_SYSTEMS.get(mount.type)
    if file_system is not None and file_system.unit is not None:
        required.append(file_system.unit)
    return [*required, *gate_units(plan, mount)]


def _is_bare(mount: Mount) -> bool:
    """Whether it is an NFS export without its server."""
    return mount.type.startswith("nfs") and mount.export.startswith("/")


def _what(mount: Mount, server: str | None) -> str:
    return mount.export if server is None else f"{server}:{mount.export}"


def _drop_in(plan: Plan, node_group: str) -> bytes:
    units = [unit_name(mount.mountpoint) for mount in mounts_of(plan, node_group)]
    return template("node/remote-fs.conf.j2").render(units=units).encode()
