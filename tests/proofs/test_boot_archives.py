"""What machines boot with, read from the archives of a folder: other files than a node's own, and other rights."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.hosts.boot.newc import newc
from clusterwright.hosts.boot.reader.archive import BOOTED, ArchivedFile, read_archive
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.folder import read_folder
from clusterwright.proofs.operation.archives import BOOT_ARCHIVES
from clusterwright.proofs.tree import ExpectedTree, rendering_of

SERVER, NODE = "svc-v00n0", "gpu-p01r01n1"
OVERLAY, FILTER = f"srv/http/nodes/{NODE}.cpio", "etc/nftables.conf"
Members = dict[str, ArchivedFile]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Declaration, ExpectedTree]:
    plan = plan_of("lab-roce")
    made = tuple(artifact for device in plan.devices for artifact in Rendering(plan).of_device(device.name))
    folder: Path = tmp_path_factory.mktemp("tree")
    for each in made:
        file = folder / each.device / each.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(each.content)
    rendering = rendering_of(plan.name, made, plan.by_name, kinds=BOOT_ARCHIVES.kinds_in_folder)
    return folder, Declaration(plan), rendering


@pytest.fixture
def folder(rendered: tuple[Path, Declaration, ExpectedTree], tmp_path: Path) -> Path:
    copy = tmp_path / "tree"
    shutil.copytree(rendered[0], copy)
    return copy


def verdict(folder: Path, rendered: tuple[Path, Declaration, ExpectedTree], *, declared: bool = True) -> Verdict:
    _, declaration, rendering = rendered
    return BOOT_ARCHIVES.run(read_folder(folder, None, *((declaration, rendering) if declared else ())))


def messages(found: Verdict) -> str:
    return " ".join(example.message for example in found.counterexamples)


def repack(file: Path, edit: Callable[[Members], None]) -> None:
    """Writes an archive anew with other members."""
    members = dict(read_archive(file.read_bytes()))
    edit(members)
    files = [Artifact("", path, member.content, "", member.mode & 0o7777) for path, member in members.items()]
    file.write_bytes(newc(files))


def image_archive(folder: Path) -> Path:
    (found,) = (folder / SERVER).glob("srv/http/images/*/*/tree.cpio")
    return found


def test_what_we_render_is_proven(folder: Path, rendered: tuple[Path, Declaration, ExpectedTree]) -> None:
    result = verdict(folder, rendered)
    assert result.is_proven, (result.word, messages(result))
    assert result.facts[0].value == 8
    assert verdict(folder, rendered, declared=False).is_proven


@pytest.mark.parametrize("declared", [True, False])
def test_a_node_whose_file_is_not_in_its_archive_is_refuted(
    folder: Path, rendered: tuple[Path, Declaration, ExpectedTree], *, declared: bool
) -> None:
    file = folder / NODE / "etc/systemd/network/20-be0.network"
    file.write_text(file.read_text().replace("Address=", "Address=fd00::9/64\nAddress=", 1))
    assert "boots with another etc/systemd/network/20-be0" in messages(verdict(folder, rendered, declared=declared))


def test_a_comment_says_nothing(folder: Path, rendered: tuple[Path, Declaration, ExpectedTree]) -> None:
    file = folder / NODE / "etc/systemd/network/20-be0.network"
    file.write_text(f"{file.read_text()}# a comment\n")
    assert verdict(folder, rendered).is_proven


def open_filter(members: Members) -> None:
    members[FILTER] = ArchivedFile(members[FILTER].content.replace(b"policy drop", b"policy accept"), 0o644)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (open_filter, f"boots with another {FILTER} than it has"),
        (lambda members: members.pop(FILTER), f"it boots without {FILTER}"),
        (
            lambda members: members.update({BOOTED: ArchivedFile(b'{"name": "training", "boot_digest": "0"}', 0o644)}),
            "drained",
        ),
        (lambda members: members.update({FILTER: ArchivedFile(members[FILTER].content, 0o666)}), "writable by group"),
        (lambda members: members.update({"usr/bin/x": ArchivedFile(b"x", 0o4755)}), "runs with rights of its owner"),
    ],
)
def test_another_image_is_refuted(
    folder: Path, rendered: tuple[Path, Declaration, ExpectedTree], edit: Callable[[Members], None], message: str
) -> None:
    repack(image_archive(folder), edit)
    result = verdict(folder, rendered)
    assert message in messages(result)
    assert {example.device for example in result.counterexamples} == {SERVER}


def test_a_stranger_in_a_nodes_archive_is_refuted(
    folder: Path, rendered: tuple[Path, Declaration, ExpectedTree]
) -> None:
    repack(folder / SERVER / OVERLAY, lambda members: members.update({"etc/cron.d/x": ArchivedFile(b"x", 0o644)}))
    assert "etc/cron.d/x is none of its files" in messages(verdict(folder, rendered))


def test_what_is_no_archive_is_refuted(folder: Path, rendered: tuple[Path, Declaration, ExpectedTree]) -> None:
    file = folder / SERVER / OVERLAY
    file.write_bytes(file.read_bytes()[:5000])
    assert "machines do not boot with it" in messages(verdict(folder, rendered))
    image_archive(folder).unlink()
    assert "and it is not there" in messages(verdict(folder, rendered))


def test_an_archive_in_another_order_says_the_same(
    folder: Path, rendered: tuple[Path, Declaration, ExpectedTree]
) -> None:
    content = (folder / SERVER / OVERLAY).read_bytes()
    members = read_archive(content)
    assert newc([Artifact("", path, each.content, "", each.mode & 0o7777) for path, each in members.items()]) == content
    (folder / SERVER / OVERLAY).write_bytes(content + bytes(512))  # as cpio pads it
    assert not verdict(folder, rendered, declared=False).is_refuted


@pytest.mark.parametrize("content", [b"", b"0707", b"070701" + b"0" * 20, b"070707" + b"0" * 200])
def test_no_archive_raises_nothing_else(content: bytes) -> None:
    with pytest.raises(ValueError, match="newc"):
        read_archive(content)
