"""A change of a host's file touches the claims that read it: comments none, data of no claim the folder alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.hosts.linux.reader.programs import lines_that_count, runs_programs
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.files import FILES
from clusterwright.proofs.folder import read_folder
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import ExpectedTree, rendering_of

NODE = "gpu-s00r01n0"  # runs no subnet manager
MANAGER = "gpu-s00r00n0"
FILTER = "etc/nftables.conf"
SSHD = "etc/ssh/sshd_config.d/10-clusterwright.conf"


@cache
def _rendered() -> tuple[tuple[Artifact, ...], Declaration, ExpectedTree]:
    plan = plan_of("lab-ib")
    made = tuple(artifact for device in plan.devices for artifact in Rendering(plan).of_device(device.name))
    kinds = {kind for check in CHECKS for kind in check.kinds}
    return made, Declaration(plan), rendering_of(plan.name, made, plan.by_name, kinds=kinds)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("tree")
    for made in _rendered()[0]:
        file = found / made.device / made.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.content)
    return found


def unsettled(folder: Path, edits: dict[str, bytes], node: str = NODE, unread: str = "") -> set[str]:
    """The claims that are not settled when bytes are added to files of the node, were files of a kind ``unread``."""
    _, declaration, rendering = _rendered()
    rendering = replace(rendering, kinds=rendering.kinds - {unread})
    before = {path: (folder / node / path).read_bytes() for path in edits}
    for path, added in edits.items():
        (folder / node / path).write_bytes(before[path] + added)
    try:
        tree = read_folder(folder, declaration=declaration, rendering=rendering)
        checks = [check for check in CHECKS if unread not in check.kinds]
        return {each.name for each in (FILES, *checks) if each.applies(tree) and not each.run(tree).is_settled}
    finally:
        for path, content in before.items():
            (folder / node / path).write_bytes(content)


def test_comments_in_all_files_that_have_any_touch_no_claim(folder: Path) -> None:
    own = [each for each in _rendered()[0] if each.device == NODE and lines_that_count(each.path, each.content)]
    assert len(own) > 40
    added = {each.path: b"\n" if each.path.endswith(".json") else b"# a comment\n\n" for each in own}
    assert unsettled(folder, {path: edit for path, edit in added.items() if path != FILTER}) == set()
    # the node itself compares the bytes of its filter
    assert unsettled(folder, {FILTER: b"# a comment\n"}) == {"node-check"}


def test_a_setting_that_no_claim_reads_leaves_the_folder_alone_open(folder: Path) -> None:
    assert not runs_programs("etc/tlshd/config")
    edit = {"etc/opensm/topology/backend.topo": b"x"}
    # and the archive that the machine boots with has the other one
    assert unsettled(folder, edit, MANAGER, unread="subnet-topology") == {"files", "boot-archives"}
    assert "ib-bisection" not in unsettled(folder, {SSHD: b"X11Forwarding no\n"})


def test_what_runs_as_root_could_undo_anything(folder: Path) -> None:
    found = unsettled(folder, {"usr/local/sbin/node-health": b"nft flush ruleset\n"})
    assert {"isolation", "ib-partitions", "files"} <= found


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("etc/clusterwright/health.json", b'{"a": 1, "a": 2}'),
        ("etc/clusterwright/health.json", b'{"a": '),
        ("etc/sudoers.d/90-clusterwright", b"# Written by clusterwright.\n#includedir /tmp\n"),
        ("usr/local/sbin/x", b"#!/bin/sh\ncat <<EOF\n# text\nEOF\n"),
        ("etc/x.json", b'{"a": 1}\n'),
        ("etc/x", b"\x00\x01"),
        ("srv/http/boot.ipxe", b"menu\n"),
    ],
)
def test_what_only_looks_like_a_comment_counts(path: str, content: bytes) -> None:
    assert lines_that_count(path, content) is None


def test_a_comment_behind_a_line_that_goes_on_counts() -> None:
    script = b"#!/bin/sh\nrun one \\\n    two\n"
    assert lines_that_count("usr/local/sbin/x", script) == b"#!/bin/sh\nrun one \\\n    two"
    cut = b"#!/bin/sh\nrun one \\\n# cut\n    two\n"
    assert lines_that_count("usr/local/sbin/x", cut) != lines_that_count("usr/local/sbin/x", script)


def test_a_shebang_is_no_comment() -> None:
    assert lines_that_count("usr/local/sbin/x", b"#!/bin/sh\n# what\nx\n") == b"#!/bin/sh\nx"
