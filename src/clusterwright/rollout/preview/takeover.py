"""Changes by the first update on a machine with another owner's system, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.plan.model import Plan
from clusterwright.spec.image import ACCOUNTS, FILTER, LIMITS, MOUNTS, NETWORK, Image

# Changes noticed by users of the machine, from the rendered files.
_CHANGES: Mapping[str, tuple[str, ...]] = {
    FILTER: ("the packet filter drops what no flow allows; tables of other programs stay",),
    NETWORK: (
        "systemd-networkd gives interfaces the spec's addresses and routes, in place of Netplan's files for them",
        "interfaces with a PCI address in the model get its names at the next boot",
    ),
    ACCOUNTS: (
        "sshd accepts no passwords, and root logs in by key alone; existing accounts stay",
        "the spec's accounts are made, and administrators become root without a password",
    ),
    LIMITS: ("logins and services get the spec's limits when they start next",),
}


def taken_over(plan: Plan, name: str) -> tuple[str, ...]:
    """Changes on a node with an existing installation; none on other devices."""
    device = plan.by_name.get(name)
    image = plan.spec.image((device.image if device is not None else None) or "")
    if image is None or not image.is_existing:
        return ()
    changes: list[str] = []
    for part, texts in _CHANGES.items():
        if image.owns(part):
            changes.extend(texts)
        if part == FILTER and image.owns(FILTER):
            changes.append(_forwarding(image))
    changes.extend(_mounting(plan, device.node_group) if device is not None and image.owns(MOUNTS) else ())
    return tuple(changes)


def _mounting(plan: Plan, node_group: str) -> Iterator[str]:
    """Times of a node group's mounts: their units are written, and a running system starts none of them."""
    for mount in plan.spec.mounts:
        if node_group in mount.nodes:
            yield f"{mount.mountpoint} is mounted from {mount.served_by} at the next boot, or by `systemctl start`"


def _forwarding(image: Image) -> str:
    """The consequence for packets of containers and virtual machines."""
    if not image.bridges:
        return "nothing is forwarded: containers and virtual machines behind NAT lose their network"
    names = ", ".join(bridge.name for bridge in image.bridges)
    return f"containers on {names} reach what their node may reach; what is behind other bridges loses its network"
