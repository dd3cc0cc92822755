"""Rendered Ethernet networks, and edits of their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache

import pytest
from tests.plans import plan_of
from tests.proofs.trees import edited

from clusterwright.artifact import Artifact
from clusterwright.facts.reader import FileText
from clusterwright.facts.router import Router
from clusterwright.output.rendering import Rendering
from clusterwright.proofs import unread
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet import network
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.switches.readers import READERS

EOS = "mnt/flash/startup-config"
AGENT, BGP = "etc/coop/agent.conf", "etc/coop/bgpcpp.conf"
SCRIPT, NCCL = "usr/local/sbin/roce-qos", "etc/nccl.conf"
NETWORK_BE0 = "etc/systemd/network/20-be0.network"

Edit = Callable[[str], str]
Place = tuple[str, str]


@cache
def artifacts_of(name: str) -> tuple[Artifact, ...]:
    """What the Ethernet checks read of a reference spec."""
    return tuple(Rendering(plan_of(name)).of_kinds(KINDS))


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
            continue
        before = artifact.content.decode()
        after = edit(before)
        assert after != before, f"the edit of {artifact.device}:/{artifact.path} changes nothing"
        made.append(Artifact(artifact.device, artifact.path, after.encode(), artifact.kind))
    assert not left, f"there is no {left}"
    return edited(whole(name), made, declaration=declaration)


@lru_cache(maxsize=1)
def whole(name: str) -> RenderedTree:
    """The tree of a spec as it is rendered; who judges it by many checks reads it once."""
    return tree_of(name, artifacts_of(name), Declaration(plan_of(name)))


def verdict(check: str, subject: RenderedTree) -> Verdict:
    """The verdict of one check."""
    return next(each for each in CHECKS if each.name == check).run(subject)


@contextmanager
def texts_read_once() -> Iterator[None]:
    """Within, a device with the same text as one that was read before is not parsed anew: an edit changes one of many.

    What checks make of all devices together they still make for each tree.
    """
    readers = tuple(
        replace(reader, router=_remembering(reader.router)) if callable(reader.router) else reader for reader in READERS
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "READERS", readers)
        patch.setattr(unread, "UNREAD", {path: cache(read) for path, read in unread.UNREAD.items()})
        for name in ("host_unread", "logins_unread"):
            patch.setattr(unread, name, cache(getattr(unread, name)))
        yield


def _remembering(read: Callable[[str, FileText], Router | None]) -> Callable[[str, FileText], Router | None]:
    """``read``, which remembers with which texts it answered what."""
    known: dict[str, list[tuple[dict[str, str], Router | None]]] = {}

    def again(device: str, text: FileText) -> Router | None:
        for asked, found in known.setdefault(device, []):
            if all(text(path) == before for path, before in asked.items()):
                return found
        asked = {}

        def noting(path: str) -> str:
            asked[path] = text(path)
            return asked[path]

        found = read(device, noting)
        known[device].append((asked, found))
        return found

    return again
