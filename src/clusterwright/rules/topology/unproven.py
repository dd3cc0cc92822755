"""CW253, CW323 and CW325: what no proof can follow, so that `verify` would refute a spec that lint calls clean."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.topology.drains import UP_DOWN
from clusterwright.spec.encryption import MUTUAL_TLS


@rule("CW323", Severity.WARNING)
def unproven_engine(subject: Subject) -> Iterator[Problem]:
    """Routing engines other than those that keep to up-down paths."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.routing_engine not in UP_DOWN:
            yield Problem(
                (*manager.path, "routing_engine"),
                f"No proof follows the paths of {manager.routing_engine} on {fabric.name}.",
                f"Use {' or '.join(UP_DOWN)}.",
            )


@rule("CW325", Severity.ERROR)
def without_withdrawal(subject: Subject) -> Iterator[Problem]:
    """Mounts with certificates on both sides, and no list of withdrawn ones."""
    spec = subject.spec
    tls = spec.encryption.tls
    if tls is None or tls.crl is not None:
        return
    mount = next((each for each in spec.mounts if each.protection and each.protection.kind == MUTUAL_TLS), None)
    if mount is not None:
        message = f"{mount.mountpoint} is mounted with certificates, and none of them could be withdrawn."
        yield Problem(tls.path, message, "Add `crl: /path/on/the/node.pem`.")


@rule("CW253", Severity.ERROR)
def nodes_at_two_tiers(subject: Subject) -> Iterator[Problem]:
    """InfiniBand fabrics with GPU nodes at more than one tier."""
    layout = subject.skeleton.layout
    for fabric in subject.skeleton.fabrics:
        if fabric.fabric.technology != "infiniband":
            continue
        groups: dict[int, str] = {}
        for item in fabric.attachments:
            group = subject.spec.node_groups[layout.nodes[item.node].node_group] if item.node >= 0 else None
            if group is not None and group.model.gpus:
                groups.setdefault(fabric.seats[item.seat].tier, group.name)
        if len(groups) > 1:
            low, high = (fabric.fabric.tiers[depth].role for depth in (min(groups), max(groups)))
            name = groups[max(groups)]
            attach = next(each for each in fabric.fabric.attach if each.nodes == name)
            yield Problem(
                (*attach.path, "nodes"),
                f"{name} is cabled to {high}, {groups[min(groups)]} to {low}.",
                f"Give {name} the level that {low} stands in, or a fabric of its own.",
            )
