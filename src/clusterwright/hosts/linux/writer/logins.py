"""Logins on a node and sudo: accounts with fixed numbers, operators' public keys; its host key by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.text.templates import template

KIND = "node-logins"
SUDOERS = "etc/sudoers.d/90-clusterwright"


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image and users, or with a stored host key."""
    image = plan.spec.image(device.image or "")
    return is_managed(device) and image is not None and bool(image.users or image.host_keys)


def shared(plan: Plan, kind: NodeKind) -> tuple[SharedFile, ...]:
    """Accounts (sysusers.d, tmpfiles.d), keys, sshd's and sudo's settings."""
    return _files(plan, kind.image)


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """Place of the host key."""
    image = plan.spec.image(device.image or "")
    if image is not None and image.host_keys is not None:
        place = image.host_keys.replace("{node}", device.name)
        yield Artifact(device=device.name, path="etc/clusterwright/host-key", source=f"{place}\n".encode(), kind=KIND)


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


@per_plan
def _files(plan: Plan, name: str) -> tuple[SharedFile, ...]:
    image = plan.spec.image(name)
    if image is None or not image.users:
        return ()
    keys = {operator.name: operator.authorized_keys for operator in plan.spec.site.operators}
    texts = [
        ("etc/sysusers.d/90-clusterwright.conf", template("node/sysusers.conf.j2").render(users=image.users)),
        ("etc/tmpfiles.d/90-clusterwright.conf", template("node/tmpfiles.conf.j2").render(users=image.users)),
        ("etc/ssh/sshd_config.d/10-clusterwright.conf", template("node/sshd.conf.j2").render()),
    ]
    admins = [user for user in image.users if user.becomes_root]
    if admins:
        texts.append((SUDOERS, template("node/sudoers.j2").render(users=admins)))
    for user in image.users:
        user_keys = list(chain.from_iterable(keys.get(operator, ()) for operator in user.operators))
        text = template("node/authorized_keys.j2").render(keys=user_keys)
        texts.append((f"etc/ssh/authorized_keys.d/{user.name}", text))
    files = []
    for path, text in texts:
        mode = 0o440 if path == SUDOERS else 0o644
        files.append((path, text.encode(), mode))
    return tuple(files)
