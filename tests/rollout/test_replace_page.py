"""The page on replacing a device, walked with the real engine: a node's board and adapter are new."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.pages.shown import assert_part
from tests.rollout.test_drain_page import held, steps
from tests.test_docs import REPOSITORY

from clusterwright.data_files import folder

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

NODE = "gpu-s00r00n2"
TEXT = (REPOSITORY / "docs/replace.md").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("replace")
    shutil.copy(folder("inventory") / "lab-ib.yaml", place / "cluster.yaml")
    done = command("up", "cluster.yaml", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


def test_the_page_is_true(site: Path) -> None:
    spec, files = (site / "cluster.yaml").read_bytes(), held(site)
    node = site / "up/flash" / NODE
    changed: list[set[str]] = []
    for step in steps(TEXT):
        if " refresh " in step.command:
            shutil.rmtree(node)  # the new board holds nothing
        before = held(site)
        done = command(*shlex.split(step.command)[1:], cwd=site)
        assert done.returncode == 0, f"{step.command}\n{done.stdout}{done.stderr}"
        assert_part(step, done.stdout + done.stderr)
        after = held(site)
        changed.append({path.split("/")[0] for path in after if after[path] != before.get(path)})

    drained, replaced, asked, sent, _ = changed
    boot_servers = {"svc-v00n0", "svc-v00n1"}
    assert (drained, replaced, asked, sent) == ({"svc-v00n0"}, boot_servers, set(), {NODE})
    assert (site / "cluster.yaml").read_bytes() == spec
    overlay = (site / "cluster.overlay.csv").read_text().splitlines()
    assert [row for row in overlay if row.startswith(NODE)] == [
        f"{NODE},,FXK2290077,,,,,,",
        f"{NODE},fe0,,,,,0c:42:a1:5b:00:77,,",
    ]
    now = held(site)
    scripts = {f"{server}/srv/http/by-mac/0c-42-a1-5b-00-77.ipxe" for server in boot_servers}
    assert now.keys() - files.keys() == scripts
    assert command("preview", "cluster.yaml", "--no-engine", cwd=site).stdout.endswith("nothing changes\n")


def test_what_is_no_label_is_refused_and_nothing_is_written(site: Path) -> None:
    overlay = site / "cluster.overlay.csv"
    before = overlay.read_bytes() if overlay.exists() else b""
    words = ("replace", "cluster.yaml", NODE, "--because", "a new board", "--yes")
    for wrong in (("--mac", "fe0=zz"), ("--guid", "be0=0c:42:a1:5b:00:77"), (), ("--mac", "fe9=0c:42:a1:5b:00:78")):
        refused = command(*words, *wrong, cwd=site)
        assert refused.returncode == 2, wrong
    assert command("replace", "cluster.yaml", "gpu-s00r00n9", *words[3:], "--serial", "A1", cwd=site).returncode == 2
    assert (overlay.read_bytes() if overlay.exists() else b"") == before
