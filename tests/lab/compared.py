"""What tests of packets through rendered filters share: an edit of a tree, and what a comparison found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from clusterwright.extras.lab.isolation.compare import IsolationResult
from clusterwright.proofs.tree import RenderedTree

KINDS = {
    *("port", "other IP version", "fragments", "spoofed source", "ICMP echo", "ICMP error of no flow"),
    *("reply without a request", "established reply"),
}


def edited(tree: RenderedTree, device: str, path: str, edit: Callable[[str], str]) -> RenderedTree:
    """The tree with one file's text changed."""
    file = tree.files[device, path]
    text = edit(file.read())
    assert text != file.read(), "the edit changes nothing"
    return replace(tree, files={**tree.files, (device, path): replace(file, read=lambda: text)})


def words(result: IsolationResult) -> list[str]:
    return [f"{each.packet}: {each.expected}; {each.happened}" for each in result.differences]
