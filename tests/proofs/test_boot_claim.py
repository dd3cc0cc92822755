"""What machines start over the network, read from the text: another address, server, image or an unasked install."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.boot import NETWORK_BOOT
from clusterwright.proofs.tree import RenderedTree, tree_of

KEA, FIRST = "etc/kea/kea-dhcp6.conf", "srv/http/boot.ipxe"
SCRIPT = "srv/http/by-mac/02-00-00-00-00-00.ipxe"
SERVER, URL = "svc-v00n0", "http://[fd00:1ab:f:5::2]"
ELSEWHERE = "http://[2001:db8::1]"
Edit = Callable[[str], str]


@cache
def whole(name: str) -> RenderedTree:
    plan = plan_of(name)
    own, images = Rendering(plan).of_kinds_by_image(NETWORK_BOOT.kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(name: str, device: str, path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file edited, or taken away where there is no edit."""
    tree = whole(name)
    files = dict(tree.files)
    before = files.pop((device, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(device, path, text.encode(), "boot")]).files)
    return NETWORK_BOOT.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(("name", "counts"), [("lab-roce", [8, 16]), ("lab-tenants", [64, 64]), ("lab-ib", [16, 32])])
def test_what_we_render_is_proven(name: str, counts: list[int]) -> None:
    result = NETWORK_BOOT.run(whole(name))
    assert result.is_proven, [str(example) for example in result.counterexamples]
    assert [fact.value for fact in result.facts] == counts


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        (KEA, changed("fd00:1ab:f::2", "fd00:1ab:f::99"), "02:00:00:00:00:00 gets fd00:1ab:f::99 as gpu-p00r00n0"),
        (KEA, changed("fd00:1ab:f::2", "fd00:1ab:f::99"), "02:00:00:00:00:00 of gpu-p00r00n0 does not get"),
        (KEA, changed("02:00:00:00:00:01", "02:00:00:00:00:00"), "has several addresses"),
        (KEA, changed("02:00:00:00:00:01", "02:00:00:00:00:ff"), "no script for 02:00:00:00:00:ff"),
        (KEA, changed('"hostname": "gpu-p00r00n0"', '"hostname": "gpu-p00r00n1"'), "as gpu-p00r00n1, which is not"),
        (KEA, changed('"client-class": "KNOWN"', '"client-class": "ALL"'), "adapters that the spec does not list"),
        (KEA, changed(f"{URL}/boot.ipxe", f"{ELSEWHERE}/boot.ipxe"), "which is another machine's"),
        (KEA, changed('"hw-address":', '"hw":'), "Kea does not start"),
        (KEA, changed("{", ""), "Kea does not start"),
        (KEA, None, "no machine gets an address"),
        (FIRST, changed(URL, ELSEWHERE), "sent on to 2001:db8::1"),
        (FIRST, None, "no machine finds its script"),
        (SCRIPT, changed(URL, ELSEWHERE), "2001:db8::1 is no boot server of gpu-p00r00n0"),
        (SCRIPT, changed("node=gpu-p00r00n0", "node=gpu-p00r00n1"), "the node name gpu-p00r00n1, and gpu-p00r00n0"),
        (SCRIPT, changed("clusterwright.node=gpu-p00r00n0", ""), "the node name (none)"),
        (SCRIPT, changed("/nodes/gpu-p00r00n0.cpio", "/nodes/gpu-p00r00n1.cpio"), "files of another machine"),
        (SCRIPT, changed("/images/training_", "/images/other_"), "no kernel of training"),
        (SCRIPT, changed("kernel ", "# kernel "), "no kernel is started"),
        (SCRIPT, None, "no script for 02:00:00:00:00:00"),
    ],
)
def test_what_another_line_does_is_told_with_its_file(path: str, edit: Edit | None, message: str) -> None:
    result = verdict("lab-roce", SERVER, path, edit)
    assert result.is_refuted
    assert any(message in str(example) for example in result.counterexamples), [str(e) for e in result.counterexamples]


def test_a_command_that_nobody_knows_leaves_the_claim_open() -> None:
    result = verdict("lab-roce", SERVER, SCRIPT, lambda text: text + "sanboot --drive 0x80\n")
    assert not result.is_refuted
    assert not result.is_settled
    assert "sanboot" in result.unjudged


def test_installers_ask_for_the_mark_of_their_machine() -> None:
    tree = whole("rsc-phase1")
    assert NETWORK_BOOT.run(tree).is_proven
    server, path = next(place for place in tree.files if place[1].startswith("srv/http/by-mac/"))
    for edit, message in (
        (changed("imgfetch --name mark", "# imgfetch --name mark"), "whether or not its mark is there"),
        (changed("|| goto disk", "||"), "whether or not its mark is there"),
        (changed("/installing/", "/installing/of-"), "which is another machine's"),
    ):
        result = verdict("rsc-phase1", server, path, edit)
        assert any(message in str(example) for example in result.counterexamples), result.counterexamples


def test_servers_are_asked_in_the_order_of_the_plan() -> None:
    tree = whole("rsc-phase1")
    server, path = next(place for place in tree.files if place[1].startswith("srv/http/by-mac/"))

    def turned(text: str) -> str:
        head, first, second, *rest = text.split("\n:")
        return "\n:".join((head, second, first, *rest))

    result = verdict("rsc-phase1", server, path, turned)
    assert any("in another order" in str(example) for example in result.counterexamples), result.counterexamples


def test_a_folder_alone_is_judged_by_itself() -> None:
    assert verdict("lab-roce", SERVER, KEA, changed("fd00:1ab:f::2", "fd00:1ab:f::99"), declared=False).is_proven
    assert verdict("lab-roce", SERVER, KEA, changed('"client-class": "KNOWN"', '"x": 1'), declared=False).is_refuted
