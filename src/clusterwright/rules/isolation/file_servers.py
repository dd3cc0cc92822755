"""CW575 and CW576: external NFS servers, by address or by name."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.needs.file_systems import is_nfs
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.address_space import address_or_none
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.zone_reach import fabric_around

_DIGITS = frozenset("0123456789.")


@rule("CW575", Severity.ERROR)
def file_server_without_an_address(subject: Subject) -> Iterator[Problem]:
    """External servers without an address in the spec, and exports invalid for NFS."""
    for mount in subject.spec.mounts:
        if mount.server is not None:
            yield from _misnamed(mount, mount.server)
            yield from _not_exported(mount, mount.server)


def _misnamed(mount: Mount, server: str) -> Iterator[Problem]:
    path = (*mount.path, "server")
    if address_or_none(server) is not None:
        if mount.addresses:
            message = f"{server} is an address: `addresses` of {mount.mountpoint} change nothing."
            yield Problem((*mount.path, "addresses"), message, "Remove `addresses`, or name the server.", key=True)
    elif ":" in server or _DIGITS.issuperset(server):
        message = f'"{server}" is neither an address nor the name of a host.'
        yield Problem(path, message, "Write an address such as 10.20.0.5, or a name such as nas.example.net.")
    elif not mount.addresses:
        message = f"{server} has no address in the spec, so that no flow to it can be checked."
        yield Problem(path, message, "Add `addresses: [...]`: those that its name resolves to.")


def _not_exported(mount: Mount, server: str) -> Iterator[Problem]:
    if not is_nfs(mount):
        message = f"{mount.mountpoint} is {mount.type}: `server` is for NFS."
        yield Problem((*mount.path, "type"), message, "Use nfs4 or nfs, or describe the storage as nodes (`system`).")
    elif not mount.export.startswith("/"):
        message = f"{server} cannot export {mount.export}: an export of NFS is a path."
        yield Problem((*mount.path, "export"), message, "Write the path alone, such as /export/home.")


@rule("CW576", Severity.ERROR)
def file_server_out_of_reach(subject: Subject) -> Iterator[Problem]:
    """External servers with an address of the cluster's own networks, or of an IP version missing on the nodes."""
    spec = subject.spec
    for mount in spec.mounts:
        for address in mount.server_addresses:
            path = (*mount.path, "server")
            if mount.addresses:
                path = (*mount.path, "addresses", mount.addresses.index(address))
            fabric = fabric_around(spec, address)
            if fabric is not None:
                message = f"{address} is among the addresses of {fabric.name}, which the plan assigns."
                hint = "Describe the server as a node group (`system`), or give it an address outside."
                yield Problem(path, message, hint)
                continue
            for name in mount.nodes:
                if address.version not in _versions_of(spec, name):
                    message = f"{name} has no IPv{address.version} address on Ethernet to ask {address} from."
                    yield Problem(path, message, f"Use an address of the server in an IP version that {name} has.")


def _versions_of(spec: ClusterSpec, node_group: str) -> frozenset[int]:
    """The IP versions of a node group on Ethernet; both if a provider assigns the addresses."""
    versions: set[int] = set()
    for fabric in spec.fabrics:
        if fabric.technology == "infiniband" or all(attach.nodes != node_group for attach in fabric.attach):
            continue
        versions.update({4, 6} if fabric.addressing is None else {fabric.addressing.hosts.version})
    return frozenset(versions)
