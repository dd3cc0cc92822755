"""File systems that nodes mount, with their options."""

from __future__ import annotations

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.encryption import KRB5P, MUTUAL_TLS, TLS
from clusterwright.spec.model import Mount

# By protection, the option of mount.nfs(8) that asks for it.
_OPTIONS = {MUTUAL_TLS: "xprtsec=mtls", TLS: "xprtsec=tls", KRB5P: "sec=krb5p"}


@per_plan
def mounts_of(plan: Plan, node_group: str) -> tuple[Mount, ...]:
    """The mounts of a node group, in the spec's order."""
    return tuple(mount for mount in plan.spec.mounts if node_group in mount.nodes)


def options_of(mount: Mount) -> str:
    """Mount options as one word: the spec's, those of its protection, and the one for network file systems."""
    required = []
    if mount.protection is not None and mount.protection.kind in _OPTIONS:
        required.append(_OPTIONS[mount.protection.kind])
    required.append("_netdev")
    missing = [option for option in required if option not in mount.options]
    return ",".join([*mount.options, *missing])
