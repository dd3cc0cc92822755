"""Folders that verify does not take: what is no file of a device, and what a manifest does not list."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.folders import INFINIBAND, NODE, ROCE, answers, edit, run

from clusterwright.finding import ClusterwrightError


def plant_link(folder: Path) -> None:
    path = folder / NODE / "etc/nftables.conf"
    path.unlink()
    path.symlink_to("/etc/passwd")


def plant_linked_folder(folder: Path) -> None:
    (folder / "linked").symlink_to("/etc")


def plant_pipe(folder: Path) -> None:
    os.mkfifo(folder / NODE / "etc/pipe")


def plant_huge(folder: Path) -> None:
    with (folder / NODE / "etc/nftables.conf").open("wb") as file:
        file.truncate(1 << 30)


def plant_bytes(folder: Path) -> None:
    (folder / NODE / "etc/nftables.conf").write_bytes("flush ruleset\n# für".encode("utf-16"))


def plant_form_feed(folder: Path) -> None:
    edit(folder / NODE / "etc/nftables.conf", "\n", "\x0c\n")


def plant_line_separator(folder: Path) -> None:
    edit(folder / NODE / "etc/nftables.conf", "\n", "\N{LINE SEPARATOR}\n")


def plant_odd_name(folder: Path) -> None:
    (Path(os.fsdecode(os.fsencode(folder / NODE) + b"/etc/\xff"))).write_text("")


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (plant_link, "is a link, and none is followed"),
        (plant_linked_folder, "is a link, and none is followed"),
        (plant_pipe, "is no regular file"),
        (plant_huge, "is larger than 64 MB"),
        (plant_odd_name, "the name is no UTF-8 text"),
    ],
)
def test_what_is_no_file_of_a_device_is_refused(read_back: Path, plant: Any, why: str) -> None:
    plant(read_back)
    result = run(str(read_back), "--spec", INFINIBAND, "--check", "isolation")
    assert isinstance(result.exception, ClusterwrightError)
    assert why in str(result.exception)
    str(result.exception).encode()


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (plant_bytes, "belongs into no UTF-8 text"),
        (plant_form_feed, "nftables.conf:1: the byte 0x0c belongs into no UTF-8 text"),
        (plant_line_separator, "nftables.conf:1: the byte 0xe2 belongs into no UTF-8 text"),
    ],
)
def test_a_file_that_is_no_text_leaves_open_what_is_said_of_it_alone(read_back: Path, plant: Any, why: str) -> None:
    plant(read_back)
    reply = answers(str(read_back), "--spec", INFINIBAND, "--check", "isolation", "--check", "ib-managers")
    assert not reply["isolation"]["proven"]
    assert why in reply["isolation"]["answer"]
    assert reply["ib-managers"]["proven"]


def test_a_file_that_the_manifest_does_not_list_is_refused(rendered: Path, tmp_path: Path) -> None:
    folder = tmp_path / "added"
    shutil.copytree(rendered, folder)
    (folder / NODE / "etc/systemd/network/99-more.network").write_text("[Match]\nName=eth9\n")
    result = run(str(folder))
    assert isinstance(result.exception, ClusterwrightError)
    assert "99-more.network: manifest.json does not list it" in str(result.exception)


def test_a_folder_of_another_cluster_is_refused(rendered: Path) -> None:
    result = run(str(rendered), "--spec", ROCE)
    assert isinstance(result.exception, ClusterwrightError)
    assert 'was rendered for the cluster "lab-ib"' in str(result.exception)


def test_a_folder_without_devices_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("version: 1\n")
    result = run(str(tmp_path))
    assert isinstance(result.exception, ClusterwrightError)
    assert "has no manifest.json of a rendered tree, and no files of devices" in str(result.exception)
