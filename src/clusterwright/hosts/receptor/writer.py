"""Receptor on the control node and on execution nodes: configuration, unit, and the shares of pods.

Only the control node dials, every connection is TLS with certificates on both sides, and an execution node takes one
kind of work, signed by the control node. Certificates are put in place by their issuer (docs/deploy.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.artifact import Artifact
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.plan.own_addresses import mesh_addresses
from clusterwright.spec.execution import MESH_TLS, WORK_TYPE, ExecutionMesh
from clusterwright.text.json_lines import dump_lines
from clusterwright.text.templates import template

KIND = "receptor"
CONFIG = "etc/clusterwright/receptor.conf"
SHARES = "etc/clusterwright/execution.json"
UNIT = "clusterwright-receptor.service"
WORKER = "usr/local/sbin/clusterwright-worker"
PROGRAMS = "/opt/clusterwright/bin"
"""Where the wheel is installed on execution nodes, and with it ansible-runner and ansible-playbook."""

_USER = "clusterwright-mesh"
_RUNTIME = "clusterwright-receptor"
_STATE = f"/run/{_RUNTIME}"
_PKI = "/etc/pki/clusterwright/mesh"
_KEEPALIVE_S = 5
_TOKEN_S = 3600  # a signed order that waits longer than that for its node is void


@dataclass(frozen=True, slots=True)
class Peer:
    """An execution node, and its address with port as receptor dials it."""

    name: str
    place: str


@dataclass(frozen=True, slots=True)
class ReceptorView:
    """Values of receptor.conf: an execution node ``listens`` and has no ``peers``, the control node has only those."""

    name: str
    controller: str
    listens: bool
    address: str
    port: int
    peers: tuple[Peer, ...]
    pki: str = _PKI
    state: str = _STATE
    worker: str = f"/{WORKER}"
    tls: str = MESH_TLS
    work_type: str = WORK_TYPE
    token_s: int = _TOKEN_S


def applies(plan: Plan, device: Device) -> bool:
    """The control node and the execution nodes, if there are any."""
    mesh = plan.spec.execution
    return mesh is not None and device.name in mesh.devices


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """Configuration, unit and account; on the control node also the shares."""
    mesh = plan.spec.execution
    if mesh is None:
        return
    yield Artifact(device=device.name, path=CONFIG, source=configuration(_view(plan, mesh, device)), kind=KIND)
    for path, content in _units():
        yield Artifact(device=device.name, path=path, source=content, kind=KIND)
    if device.name == mesh.controller:
        yield Artifact(device=device.name, path=SHARES, source=_shares(plan), kind=KIND)
    else:
        yield Artifact(
            device=device.name, path=WORKER, source=worker(f"{PROGRAMS}/ansible-runner"), kind=KIND, mode=0o755
        )


def configuration(view: ReceptorView) -> bytes:
    """The text of receptor.conf."""
    return template("receptor/receptor.conf.j2").render(view=view).encode()


def worker(program: str) -> bytes:
    """The script for one piece of work with ``program``, ansible-runner, leaving nothing behind."""
    return template("receptor/worker.sh.j2").render(program=program, keepalive_s=_KEEPALIVE_S).encode()


def bracketed(address: str) -> str:
    """An address for receptor, bracketed if it is IPv6: receptor appends a colon and the port."""
    return f"[{address}]" if ":" in address else address


_addresses = per_plan(mesh_addresses)


def _view(plan: Plan, mesh: ExecutionMesh, device: Device) -> ReceptorView:
    addresses = _addresses(plan)
    listens = device.name != mesh.controller
    peers = tuple(Peer(node.device, f"{bracketed(addresses[node.device])}:{mesh.port}") for node in mesh.nodes)
    return ReceptorView(
        name=device.name,
        controller=mesh.controller,
        listens=listens,
        address=bracketed(addresses[device.name]),
        port=mesh.port,
        peers=() if listens else peers,
    )


def _units() -> tuple[tuple[str, bytes], ...]:
    service = template("receptor/receptor.service.j2").render(
        config=CONFIG, user=_USER, runtime=_RUNTIME, state=_STATE, programs=PROGRAMS
    )
    return (
        (f"etc/systemd/system/{UNIT}", service.encode()),
        (
            "etc/systemd/system/multi-user.target.d/97-receptor.conf",
            template("receptor/wants.conf.j2").render(unit=UNIT).encode(),
        ),
        (
            "etc/sysusers.d/clusterwright-receptor.conf",
            template("receptor/sysusers.conf.j2").render(user=_USER, state=_STATE).encode(),
        ),
    )


@per_plan
def _shares(plan: Plan) -> bytes:
    """The execution nodes, and every device's pod, for deployments with this access file as ``execution``."""
    mesh = plan.spec.execution
    if mesh is None:
        return b""
    document = {
        "control_socket": f"{_STATE}/control.sock",
        "lost_after_s": mesh.lost_after_s,
        "silent_after_s": mesh.silent_after_s,
        "nodes": {node.device: list(node.pods) for node in mesh.nodes},
        "pods": {device.name: device.pod for device in plan.devices if device.pod},
    }
    return dump_lines(document, 2)
