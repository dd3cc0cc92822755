"""Rendered Ethernet networks, and edits of their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from tests.platforms.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.engine import render_kinds
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

EOS = "mnt/flash/startup-config"
AGENT, BGP = "etc/coop/agent.conf", "etc/coop/bgpcpp.conf"
SCRIPT, NCCL = "usr/local/sbin/roce-qos", "etc/nccl.conf"
NETWORK_BE0 = "etc/systemd/network/20-be0.network"

Edit = Callable[[str], str]
Place = tuple[str, str]


@cache
def artifacts_of(name: str) -> tuple[Artifact, ...]:
    """What the Ethernet checks read of a reference spec."""
    return tuple(render_kinds(plan_of(name), KINDS))


def text_of(name: str, device: str, path: str) -> str:
    """One rendered file."""
    return next(a.content.decode() for a in artifacts_of(name) if (a.device, a.path) == (device, path))


def tree(name: str, edits: Mapping[Place, Edit] | None = None, *, declaration: bool = True) -> RenderedTree:
    """The tree of a spec with some files edited."""
    made = []
    left = dict(edits or {})
    for artifact in artifacts_of(name):
        edit = left.pop((artifact.device, artifact.path), None)
        if edit is None:
            made.append(artifact)
            continue
        before = artifact.content.decode()
        after = edit(before)
        assert after != before, f"the edit of {artifact.device}:/{artifact.path} changes nothing"
        made.append(Artifact(artifact.device, artifact.path, after.encode(), artifact.kind))
    assert not left, f"there is no {left}"
    return tree_of(name, made, declaration_of(plan_of(name)) if declaration else None)


def verdict(check: str, subject: RenderedTree) -> Verdict:
    """The verdict of one check."""
    return next(each for each in CHECKS if each.name == check).run(subject)
