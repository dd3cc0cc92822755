"""One device is changed alone, by the real engine: the others of its rack and of its stack stay as they are."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

BACKLOG = "net.core.netdev_max_backlog"
NODE, OTHERS = "gpu-p00r00n0", ("gpu-p00r00n1", "gpu-p00r01n0", "gpu-p00r01n1")


@dataclass(frozen=True)
class Site:
    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "cluster.yaml"

    def run(self, action: str, *options: str) -> CompletedProcess[str]:
        return command(action, str(self.spec), "--root", str(self.folder / "up"), *options, cwd=self.folder)

    def set_backlog(self, value: int) -> None:
        text = (folder("inventory") / "lab-roce.yaml").read_text()
        self.spec.write_text(text.replace(f"{BACKLOG}: 250000", f"{BACKLOG}: {value}"))

    def backlog_file(self, device: str) -> Path:
        return self.folder / "up/flash" / device / "etc/sysctl.d/90-clusterwright.conf"

    def backlog(self, device: str) -> int:
        lines = self.backlog_file(device).read_text().splitlines()
        return next(int(line.partition("=")[2]) for line in lines if line.startswith(BACKLOG))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("alone"))
    shutil.copy(folder("inventory") / "lab-roce.yaml", site.spec)
    done = site.run("up", "--pod", "pod0")
    assert done.returncode == 0, done.stderr
    return site


def test_one_device_is_changed_and_the_rest_later(site: Site) -> None:
    site.set_backlog(260000)

    preview = site.run("preview", "--device", NODE)
    assert preview.returncode == 0, preview.stderr
    assert f"alone: {NODE}; all other devices stay as they are" in preview.stdout
    assert OTHERS[0] not in preview.stdout
    done = site.run("up", "--device", NODE, "--reason", "one node first", "--yes")

    assert done.returncode == 0, done.stderr
    assert site.backlog(NODE) == 260000
    assert {site.backlog(name) for name in OTHERS} == {250000}
    started = [json.loads(line) for line in (site.folder / "up/audit/rollouts.jsonl").read_text().splitlines()]
    assert [entry["only"] for entry in started if entry["event"] == "started"] == [[], [NODE]]
    assert "nothing changed" in site.run("up", "--device", NODE).stderr

    rest = site.run("preview", "--pod", "pod0", "--no-engine", "--format", "json")
    changing = {name for group in json.loads(rest.stdout)["groups"] for name in group["devices"]}
    assert changing == set(OTHERS)
    assert site.run("up", "--pod", "pod0", "--reason", "the rest", "--yes").returncode == 0
    assert {site.backlog(name) for name in OTHERS} == {260000}
    assert site.run("preview", "--pod", "pod0", "--expect-no-changes").returncode == 0


def test_one_device_is_refreshed_and_mended_alone(site: Site) -> None:
    held = site.backlog(NODE)
    for name in (NODE, OTHERS[0], OTHERS[1]):
        file = site.backlog_file(name)
        file.write_text(file.read_text().replace(str(held), "1000"))

    result = site.run("refresh", "--device", NODE)
    assert result.returncode == 0, result.stderr
    assert f"2 of 4 devices hold something else: {NODE}, {OTHERS[0]}" in result.stderr
    done = site.run("up", "--device", NODE, "--reason", "an edit by hand", "--yes")

    assert done.returncode == 0, done.stderr
    assert [site.backlog(name) for name in (NODE, *OTHERS)] == [held, 1000, 1000, held]
    assert site.run("refresh", "--pod", "pod0").returncode == 0
    assert site.run("up", "--pod", "pod0", "--reason", "the others", "--yes").returncode == 0
    assert {site.backlog(name) for name in (NODE, *OTHERS)} == {held}


def test_a_device_that_is_not_there_or_was_never_deployed_is_refused(site: Site) -> None:
    unknown = site.run("up", "--device", "gpu-p00r00n9", "--reason", "a typing error")
    assert (unknown.returncode, 'Did you mean "gpu-p00r00n' in unknown.stderr) == (2, True)
    early = site.run("up", "--device", "gpu-p01r00n0", "--reason", "too early")
    assert (early.returncode, "pod1 was never deployed" in early.stderr) == (2, True)
