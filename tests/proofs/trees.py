"""Rendered subnet managers' files, and edits of their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.subnet import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

CONFIG = "etc/opensm/opensm.conf"
FABRIC = "etc/opensm/fabric.net"
ROOTS = "etc/opensm/root_guids.conf"
COMPUTE = "etc/opensm/cn_guids.conf"
NAMES = "etc/opensm/ib-node-name-map"
PARTITIONS = "etc/opensm/partitions.conf"

Edit = Callable[[str], str]


@cache
def artifacts_of(name: str) -> tuple[Artifact, ...]:
    """What the InfiniBand checks read of a reference spec."""
    return tuple(Rendering(plan_of(name)).of_kinds(KINDS))


def managers_of(name: str) -> list[str]:
    """The hosts with a subnet manager."""
    return sorted({artifact.device for artifact in artifacts_of(name)})


def text_of(name: str, path: str) -> str:
    """A file of the first manager."""
    host = managers_of(name)[0]
    return next(a.content.decode() for a in artifacts_of(name) if (a.device, a.path) == (host, path))


def tree(
    name: str, edits: Mapping[str, Edit] | None = None, *, only: str = "", declaration: bool = True
) -> RenderedTree:
    """The tree of a spec with some files edited, on all managers or on the one called ``only``."""
    made = []
    for artifact in artifacts_of(name):
        edit = (edits or {}).get(artifact.path)
        if edit is None or (only and artifact.device != only):
            continue
        before = artifact.content.decode()
        after = edit(before)
        assert after != before, f"the edit of {artifact.path} changes nothing"
        made.append(Artifact(artifact.device, artifact.path, after.encode(), artifact.kind))
    return edited(whole(name), made, declaration=declaration)


@lru_cache(maxsize=1)
def whole(name: str) -> RenderedTree:
    """The tree of a spec as it is rendered; who judges it by many checks reads it once."""
    return tree_of(name, artifacts_of(name), Declaration(plan_of(name)))


def edited(as_rendered: RenderedTree, made: Sequence[Artifact], *, declaration: bool) -> RenderedTree:
    """A tree with files in the place of its own: itself, where there are none and its declaration is wanted."""
    if declaration and not made:
        return as_rendered
    files = {**as_rendered.files, **tree_of(as_rendered.cluster, made).files}
    return replace(as_rendered, files=files, declaration=as_rendered.declaration if declaration else None)


def verdict(check: str, subject: RenderedTree) -> Verdict:
    """The verdict of one check."""
    return next(each for each in CHECKS if each.name == check).run(subject)


def line_of(text: str, pattern: str) -> int:
    """The number of the only line that a regular expression finds."""
    found = [number for number, line in enumerate(text.split("\n"), 1) if re.search(pattern, line)]
    assert len(found) == 1, f"{pattern!r} is on lines {found}"
    return found[0]


class Cables:
    """A fabric file to be recabled: ends are ``("leaf-s00-00", 9)`` or ``("gpu-s00r00n0 be3", 1)``."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.ids: dict[str, str] = {}
        self.row: dict[tuple[str, int], int] = {}
        node = ""
        for index, line in enumerate(self.lines):
            if (head := re.match(r'(?:Switch|Hca)\s+\d+ "([SH]-\w+)"\s+# "(.*)"', line)) is not None:
                node = head[1]
                self.ids[head[2]] = node
            elif (port := re.match(r"\[(\d+)\]", line)) is not None:
                self.row[node, int(port[1])] = index

    @property
    def text(self) -> str:
        """The file as it is now."""
        return "\n".join(line for line in self.lines if line != "(unplugged)")

    def line(self, name: str, port: int) -> int:
        """The line number of an end, as long as nothing was unplugged above it."""
        return self.row[self.ids[name], port] + 1

    def ports(self, name: str) -> list[int]:
        """The cabled ports of a node."""
        return [port for node, port in self.row if node == self.ids[name]]

    def peer(self, name: str, port: int) -> tuple[str, int]:
        """The name and port at the other end."""
        node, far = self._far(self.ids[name], port)
        return next(known for known, own in self.ids.items() if own == node), far

    def swap(self, one: tuple[str, int], other: tuple[str, int]) -> Cables:
        """Exchange the far ends of two cables, on all four lines."""
        near = [(self.ids[one[0]], one[1]), (self.ids[other[0]], other[1])]
        far = [self._far(*end) for end in near]
        for end, peer in ((near[0], far[1]), (far[1], near[0]), (near[1], far[0]), (far[0], near[1])):
            self._point(end, peer)
        return self

    def unplug(self, name: str, port: int) -> Cables:
        """Take a cable out at both ends."""
        end = (self.ids[name], port)
        for each in (self._far(*end), end):
            self.lines[self.row.pop(each)] = "(unplugged)"
        return self

    def plug(self, one: tuple[str, int], other: tuple[str, int]) -> Cables:
        """Add a cable between two free switch ports."""
        ends = [(self.ids[one[0]], one[1]), (self.ids[other[0]], other[1])]
        for (node, port), (peer, far) in (ends, ends[::-1]):
            last = max(at for (owner, _), at in self.row.items() if owner == node)
            self.lines[last] += f'\n[{port}]\t"{peer}"[{far}]'
        return self

    def _far(self, node: str, port: int) -> tuple[str, int]:
        match = re.search(r'"([SH]-\w+)"\[(\d+)\]', self.lines[self.row[node, port]])
        assert match is not None
        return match[1], int(match[2])

    def _point(self, end: tuple[str, int], peer: tuple[str, int]) -> None:
        at = self.row[end]
        self.lines[at] = re.sub(r'"[SH]-\w+"\[\d+\]', f'"{peer[0]}"[{peer[1]}]', self.lines[at])
