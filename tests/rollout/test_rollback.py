"""Rolling back with the real engine: the spec that a rollout kept comes back, as a change like any other."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.cli.in_process import command

from clusterwright import __version__
from clusterwright.data_files import folder

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

BACKLOG = "net.core.netdev_max_backlog"
NODE = "gpu-p00r00n0"


@dataclass(frozen=True)
class Site:
    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "cluster.yaml"

    @property
    def record(self) -> list[dict[str, Any]]:
        lines = (self.folder / "up/audit/rollouts.jsonl").read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["event"] == "started"]

    def run(self, action: str, *options: str) -> CompletedProcess[str]:
        words = (action, "cluster.yaml", "--pod", "pod0", *options)
        return command(*words, cwd=self.folder)

    def set_backlog(self, value: int) -> None:
        text = (folder("inventory") / "lab-roce.yaml").read_text()
        self.spec.write_text(text.replace(f"{BACKLOG}: 250000", f"{BACKLOG}: {value}"))

    def backlog(self) -> int:
        lines = (self.folder / "up/flash" / NODE / "etc/sysctl.d/90-clusterwright.conf").read_text().splitlines()
        return next(int(line.partition("=")[2]) for line in lines if line.startswith(BACKLOG))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("rollback"))
    shutil.copy(folder("inventory") / "lab-roce.yaml", site.spec)
    assert site.run("up").returncode == 0
    site.set_backlog(260000)
    done = site.run("up", "--reason", "deeper queues", "--yes")
    assert done.returncode == 0, done.stderr
    return site


def test_a_rollout_is_rolled_back_to_the_one_before(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLUSTERWRIGHT_REASON", raising=False)
    first = site.record[0]["rollout"]

    preview = site.run("preview", "--to", first, "--no-engine")
    assert preview.returncode == 0, preview.stderr
    assert "260000 → 250000" in preview.stdout
    unexplained = site.run("up", "--to", first, "--yes")
    assert (unexplained.returncode, "say why for the audit log" in unexplained.stderr) == (2, True)
    done = site.run("up", "--to", first, "--reason", "too deep", "--yes")

    assert done.returncode == 0, done.stderr
    assert f"this was the spec of {first}" in done.stderr
    assert (site.backlog(), "260000" in site.spec.read_text()) == (250000, True)
    back = site.record[-1]
    assert (back["to"], back["reason"], back["kept"]) == (first, "too deep", site.record[0]["kept"])
    assert len(back["waves"]) == 2
    assert back["revision"] == site.record[0]["revision"]

    # The spec on disk is the next change again; put back, nothing is left to do.
    assert "250000 → 260000" in site.run("preview", "--no-engine").stdout
    shutil.copy(folder("inventory") / "lab-roce.yaml", site.spec)
    assert site.run("preview", "--expect-no-changes").returncode == 0


def test_the_record_says_what_a_device_was_given_and_held(site: Site) -> None:
    assert site.run("refresh").returncode == 0
    show = ("audit", "show", "up", "--device", NODE)
    document = json.loads(command(*show, "--format", "json", cwd=site.folder).stdout)["events"]
    first, deeper, back, asked = document

    assert [event["action"] for event in document] == ["up", "up", "up", "refresh"]
    assert [event["result"] for event in document] == ["ok", "ok", "ok", "as given"]
    assert (deeper["reason"], deeper["program"]) == ("deeper queues", __version__)
    assert first["tree"] == back["tree"] == asked["tree"] != deeper["tree"]
    lines = command(*show, cwd=site.folder).stdout.splitlines()
    assert (len(lines), "deeper queues" in lines[1], f"clusterwright {__version__}" in lines[1]) == (4, True, True)
    assert not command(*show, "--since", "2999-01-01", cwd=site.folder).stdout

    def held(event: dict[str, str]) -> dict[str, str]:
        moment = (datetime.fromisoformat(event["at"]) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S")
        shown = command(*show, "--at", moment, "--format", "json", cwd=site.folder).stdout
        return {file["path"]: file["sha256"] for file in json.loads(shown)["files"]}

    then, now = held(deeper), held(asked)
    changed = {path for path in then if then[path] != now[path]}
    assert changed == {"etc/sysctl.d/90-clusterwright.conf", "etc/clusterwright/health.json"}
    file = site.folder / "up/flash" / NODE / "etc/sysctl.d/90-clusterwright.conf"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == now["etc/sysctl.d/90-clusterwright.conf"]
    before = command(*show, "--at", "2001-01-01", cwd=site.folder)
    assert "not known, or it had none" in before.stdout
    assert command("audit", "show", "up", "--at", "2001-01-01", cwd=site.folder).returncode == 2
    assert command("audit", "show", "up", "--device", "gpu-p09r00n0", cwd=site.folder).returncode == 2
    listed = json.loads(command("audit", "show", "up", "--format", "json", cwd=site.folder).stdout)["rollouts"]
    assert [rollout["action"] for rollout in listed] == ["up", "up", "up", "refresh"]


def test_what_is_not_kept_cannot_be_brought_back(site: Site) -> None:
    unknown = site.run("preview", "--to", "19990101")
    assert (unknown.returncode, "no rollout is called '19990101'" in unknown.stderr) == (2, True)
    several = site.run("preview", "--to", "2")
    assert (several.returncode, "more than one rollout is called" in several.stderr) == (2, True)
    kept = site.record[0]["kept"]
    (site.folder / "up/objects" / kept[:2] / kept[2:]).unlink()
    lost = site.run("preview", "--to", site.record[0]["rollout"])
    assert (lost.returncode, "is no longer in" in lost.stderr) == (2, True), lost.stderr
