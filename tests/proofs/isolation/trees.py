"""Rendered filters of reference specs, a few devices of each kind, and edits of their text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.renderers import RENDERERS
from clusterwright.plan.model import Device
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION, KINDS
from clusterwright.proofs.tree import RenderedTree, tree_of

NFT, BOOT = "etc/nftables.conf", "etc/nftables-boot.conf"
EOS, AGENT, SONIC = "mnt/flash/startup-config", "etc/coop/agent.conf", "etc/sonic/config_db.json"
Edit = Callable[[str], str]


@cache
def declaration(name: str) -> Declaration:
    """What a reference spec declares."""
    return Declaration(plan_of(name))


@cache
def artifacts_of(name: str, device: str) -> tuple[Artifact, ...]:
    """What the proof reads of one device."""
    plan = plan_of(name)
    own = plan.by_name[device]
    return tuple(
        artifact
        for entry in RENDERERS
        if entry.kind in KINDS and entry.applies(plan, own)
        for artifact in entry.render(plan, own)
    )


@cache
def one_of_each(name: str) -> tuple[str, ...]:
    """The first device of every role and group of nodes that has a filter."""
    found: dict[tuple[str, str, str], Device] = {}
    for device in plan_of(name).devices:
        found.setdefault((device.role, device.node_group, device.fabric), device)
    paths = {NFT, BOOT, EOS, AGENT, SONIC}
    return tuple(
        device.name
        for device in found.values()
        if any(artifact.path in paths for artifact in artifacts_of(name, device.name))
    )


def text_of(name: str, device: str, path: str) -> str:
    """One rendered file."""
    return next(a.content.decode() for a in artifacts_of(name, device) if a.path == path)


def tree(
    name: str, *devices: str, edits: dict[tuple[str, str], Edit] | None = None, is_folder: bool = False
) -> RenderedTree:
    """The tree of some devices, with files edited; without what the spec declares when it ``is_folder`` alone."""
    left = dict(edits or {})
    made = []
    for device in devices:
        for artifact in artifacts_of(name, device):
            edit = left.pop((device, artifact.path), None)
            if edit is not None:
                before = artifact.content.decode()
                after = edit(before)
                assert after != before, f"the edit of {device}:/{artifact.path} changes nothing"
                made.append(Artifact(device, artifact.path, after.encode(), artifact.kind))
            else:
                made.append(artifact)
    assert not left, f"there is no {left}"
    return tree_of(name, made, None if is_folder else declaration(name))


def verdict(subject: RenderedTree) -> Verdict:
    """What the proof says."""
    return ISOLATION.run(subject)


def left_open(answer: Verdict, device: str) -> str:
    """What of a device's text could not be read, so that the claim is not proven."""
    assert not answer.is_settled
    return "\n".join(place.unread.text for place in answer.unread if place.device == device)
