"""CW235, CW236: devices without data ports, and nodes inside the groups of others."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import node_group_names
from clusterwright.spec.hardware.models import DEVICE
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

_NODE = "node"  # the role of machines running jobs
_OF_HOST = ("count", "levels", "nvlink_domain")


@rule("CW235", Severity.ERROR, relied_on=True)
def asked_of_a_device(subject: Subject) -> Iterator[Problem]:
    """Sections naming a node group of devices, without data ports or a system of ours, and the role of such a group."""
    spec = subject.spec
    devices = {group.name: group.model.name for group in spec.node_groups if group.model.kind == DEVICE}
    if not devices:
        return
    for group in spec.node_groups:
        if group.name in devices and group.role == _NODE:
            message = f"{group.name} ({devices[group.name]}) are devices, and would be listed as nodes."
            yield Problem((*group.path, "role"), message, "Write what they are: `role: switch-tray`, `role: pdu`.")
    for name, path in (*node_group_names(spec), *_own_sections(spec)):
        if name in devices:
            yield Problem(
                path,
                f"{name} ({devices[name]}) are devices: they have management ports alone, and boot no image.",
                "Remove the group: an attachment with `management: true` cables and addresses them.",
            )


def _own_sections(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    """Node groups with a zone, an image or an NVLink domain, each with the place of the key."""
    for group in spec.node_groups:
        for key, value in (("zone", group.zone), ("image", group.image), ("nvlink_domain", group.nvlink_domain)):
            if value is not None:
                yield group.name, (*group.path, key)


@rule("CW236", Severity.ERROR, relied_on=True)
def inside_says_it(subject: Subject) -> Iterator[Problem]:
    """Node groups with `inside` and levels of their own, or inside another group with `inside`."""
    spec = subject.spec
    for group in spec.node_groups:
        if group.inside is None:
            continue
        for key in _OF_HOST:
            if (*group.path, key) in spec.document.values:
                message = f"{group.name} are `inside` {group.inside.nodes}, which determines their levels and number."
                yield Problem((*group.path, key), message, f"Remove either `{key}` or `inside`.")
        host = spec.node_group(group.inside.nodes)
        if host is not None and host.inside is not None:
            message = f"{host.name} has no levels of its own: it is `inside` {host.inside.nodes}."
            hint = f"Name {host.inside.nodes}." if host is not group else "Name the node group whose racks hold them."
            yield Problem((*group.inside.path, "nodes"), message, hint)
