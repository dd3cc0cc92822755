"""The files of a node with a secret as content, which are in no image and on no boot server.

A placeholder stands for each secret until the deployment resolves it. A newly installed node has them after its first
deployment.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.passwords import PASSWORDS, PASSWORDS_MODE, password_lines
from clusterwright.hosts.opensm.writer.configuration import M_KEY, place_of, subnets_managed
from clusterwright.intent.credentials import Credential, brought, credentials_of
from clusterwright.intent.device_kind import NodeKind, kind_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import LOGIN_UNITS, WORKER_UNITS, munge_secret, slurm_of_login, slurm_run_by
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.job import Scheduler

KIND = "node-secrets"
M_KEY_MODE = 0o600
CREDENTIAL_MODE = 0o600
MUNGE_KEY, MUNGE_KEY_MODE = "etc/clusterwright/munge.key", 0o600


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with credentials or accounts with a password, hosts of a subnet manager with an M_Key, Slurm's."""
    if is_managed(device) and _is_shared(plan, kind_of(plan, device)):
        return True
    return device.kind == "node" and next(for_device(plan, device), None) is not None


@per_plan
def _is_shared(plan: Plan, kind: NodeKind) -> bool:
    return next(iter(shared(plan, kind)), None) is not None


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """The hashes of passwords, and munge's key for Slurm's compute and login nodes."""
    image = plan.spec.image(kind.image)
    if image is not None:
        lines = password_lines((user.name, user.password) for user in image.users)
        if lines:
            yield PASSWORDS, lines.encode(), PASSWORDS_MODE
    if kind.slurm_units == WORKER_UNITS:
        yield from _munge_key(plan.spec.scheduler(kind.node_group))
    if kind.slurm_units == LOGIN_UNITS:
        yield from _munge_key(slurm_of_login(plan.spec, kind.node_group))
    for credential, secret in _credentials(plan, kind.node_group):
        if not credential.is_own:
            yield credential.file[1:], f"<secret {secret} as pem>".encode(), CREDENTIAL_MODE


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """Secrets of a single node; munge's key for Slurm's controllers and its accountant, and the M_Key."""
    if is_managed(device):
        for credential, secret in _credentials(plan, device.node_group):
            if credential.is_own:
                content = f"<secret {secret}.{device.name} as pem>".encode()
                yield Artifact(
                    device=device.name, path=credential.file[1:], source=content, kind=KIND, mode=CREDENTIAL_MODE
                )
    for path, content, mode in _munge_key(slurm_run_by(plan, device)):
        yield Artifact(device=device.name, path=path, source=content, kind=KIND, mode=mode)
    for subnet in subnets_managed(plan, device):
        manager = subnet.fabric.subnet_manager
        if manager is not None and manager.m_key is not None:
            path = f"{place_of(plan, subnet).folder}/{M_KEY}"
            content = f"<secret {manager.m_key.secret} as m-key>\n".encode()
            yield Artifact(device=device.name, path=path, source=content, kind=KIND, mode=M_KEY_MODE)


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


@per_plan
def _credentials(plan: Plan, node_group: str) -> tuple[tuple[Credential, str], ...]:
    """Credentials brought by a deployment to nodes of a group, each with the name of its secret."""
    credentials = []
    for credential in credentials_of(plan.spec, node_group):
        source = brought(plan.spec, credential)
        if source is not None and source.secret is not None:
            credentials.append((credential, source.secret))
    return tuple(credentials)


def _munge_key(slurm: Scheduler | None) -> Iterator[SharedFile]:
    key = munge_secret(slurm) if slurm is not None else None
    if key is not None:
        yield MUNGE_KEY, f"<secret {key} as munge-key>".encode(), MUNGE_KEY_MODE
