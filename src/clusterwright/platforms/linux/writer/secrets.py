"""The files of a node whose content is a secret: what is in no image and what no boot server offers.

A placeholder stands for each secret until the deployment resolves it. A node that was installed anew has them after its
first deployment.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.scheduling import munge_secret, slurm_units
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.linux.writer.passwords import PASSWORDS, PASSWORDS_MODE, password_lines
from clusterwright.platforms.opensm.writer.configuration import M_KEY_FILE, managed_fabric

KIND = "node-secrets"
M_KEY_MODE = 0o600
MUNGE_KEY, MUNGE_KEY_MODE = "etc/clusterwright/munge.key", 0o600


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with accounts that have a password, hosts of a subnet manager that has an M_Key, and Slurm's machines."""
    return device.kind == "node" and any(True for _ in render(plan, device))


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The hashes of passwords, munge's key, and the M_Key."""
    image = plan.spec.image(device.image or "") if is_managed(device) else None
    if image is not None:
        lines = password_lines((user.name, user.password) for user in image.users)
        if lines:
            yield Artifact(device.name, PASSWORDS, lines.encode(), KIND, PASSWORDS_MODE)
    key = munge_secret(plan)
    if key is not None and slurm_units(plan, device):
        yield Artifact(device.name, MUNGE_KEY, f"<secret {key} as munge-key>".encode(), KIND, MUNGE_KEY_MODE)
    fabric = managed_fabric(plan, device)
    manager = fabric.subnet_manager if fabric is not None else None
    if manager is not None and manager.m_key is not None:
        content = f"<secret {manager.m_key.secret} as m-key>\n".encode()
        yield Artifact(device.name, M_KEY_FILE, content, KIND, M_KEY_MODE)
