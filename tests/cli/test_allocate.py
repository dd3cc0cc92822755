"""``clusterwright allocate`` as people call it: what it writes, what it says, and who reads the file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.plan.grown import Data, data_of, item, write

from clusterwright.cli.main import cli
from clusterwright.deploy.pulumi.cache import TargetLayer, recall, remember
from clusterwright.deploy.pulumi.rendering import Source, make_manifests
from clusterwright.deploy.pulumi.units import choose, cut
from clusterwright.deploy.targets import TargetSettings
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import load_sound
from clusterwright.spec.text.source import noting_reads


def call(*arguments: object) -> int:
    status: int = cli.main(args=[str(each) for each in arguments], prog_name="clusterwright", standalone_mode=False)
    return status


def grown(data: Data) -> Data:
    item(data["nodes"], "storage")["count"] = 4
    return data


def test_the_file_is_written_once_and_read_by_diff_in_every_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(data_of("lab-roce"), Path("cluster.yaml"))
    assert call("allocate", "--check", path) == 1
    assert not Path("cluster.allocated.yaml").exists()
    assert call("allocate", path) == 0
    assert call("allocate", "--check", path) == 0
    assert "cluster.allocated.yaml is up to date" in capsys.readouterr().err
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "as it stands")):
        subprocess.run([*git, *command], check=True)
    write(grown(data_of("lab-roce")), path)
    assert call("lint", path) == 1
    assert "CW264" in capsys.readouterr().out
    assert call("diff", "--no-config", "HEAD:cluster.yaml", path) == 1
    assert capsys.readouterr().out.splitlines()[2] == "existing devices: no cable, address or number moves"
    assert call("allocate", path) == 0
    assert "+3 devices" in capsys.readouterr().err  # two servers, and the switch of their rack
    subprocess.run([*git, "commit", "-qam", "grown"], check=True)
    assert call("diff", "--no-config", "HEAD~1:cluster.yaml", "HEAD:cluster.yaml") == 1
    assert capsys.readouterr().out.splitlines()[2] == "existing devices: no cable, address or number moves"
    assert call("lint", ".") == 0


@pytest.mark.parametrize(
    "header",
    ["a-node,a-port,z-node,z-port", "SRC_NAME;SRC_HCA_PORT;DST_NAME;DST_PORT", "a_device\ta_port\tb_device\tb_port"],
)
def test_a_list_of_cables_is_taken_and_what_moves_is_said(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(data_of("lab-roce"), Path("cluster.yaml"))
    rows = ["st-s00n0,fe0,rsw-s00,eth1/2/3", "rsw-s00,eth1/2/1,st-s00n1,1"]
    delimiter = next(each for each in ",;\t" if each in header)
    text = "\n".join([header, *(row.replace(",", delimiter) for row in rows)])
    Path("laid.csv").write_text(f"\ufeff{text}")
    assert call("allocate", path, "--cables", "laid.csv") == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "as laid: 2 cables stay where they are, which the plan had elsewhere; 0 addresses and 0 numbers change"
    )
    cables = build_plan(load_sound(path)).cables
    assert [(c.a.device, c.b.port) for c in cables if c.b.device == "rsw-s00" and c.a.side == "host"] == [
        ("st-s00n0", "eth1/2/3"),
        ("st-s00n1", "eth1/2/1"),
    ]


def test_a_stack_is_rendered_anew_once_the_file_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(data_of("lab-roce"), tmp_path / "cluster.yaml")
    target = TargetSettings("directory", tmp_path / "out", None)
    question = TargetLayer(path, "pod0", target)
    with noting_reads() as read:
        plan = build_plan(load_sound(path))
    (stack,) = choose(cut(plan), ["pod0"])
    manifest = make_manifests(plan, target, [stack], Source(path, read))[stack.name]
    remember(question, read, manifest)
    assert recall(question) == manifest
    assert call("allocate", path) == 0
    assert recall(question) is None
    assert json.loads(question.note.read_text())
