"""A running cluster by the real engine: its state is lost, its spec is edited meanwhile, a device of it dies."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import pulumi_environment

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

SERVER = "10.99.240.14"
"""A log server, which every device is told of."""


@dataclass(frozen=True)
class Cluster:
    """The lab's services and what is above them, deployed in a folder of their own."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "cluster.yaml"

    @property
    def root(self) -> Path:
        return self.folder / "up"

    def run(self, action: str, *options: str) -> CompletedProcess[str]:
        layers = ("--upper", "--pod", "services-rack0")
        return command(action, str(self.spec), *layers, "--root", str(self.root), *options, cwd=self.folder)

    def edit(self, old: str, new: str) -> None:
        text = self.spec.read_text()
        assert old in text
        self.spec.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    found = Cluster(tmp_path_factory.mktemp("deployed"))
    shutil.copy(folder("inventory") / "lab-roce.yaml", found.spec)
    done = found.run("up")
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture
def cluster(deployed: Cluster, tmp_path: Path) -> Cluster:
    """A copy: its state names the first one's folder, so it is one that has lost its state."""
    shutil.copytree(deployed.root / "flash", tmp_path / "up" / "flash")
    shutil.copy(deployed.spec, tmp_path / "cluster.yaml")
    return Cluster(tmp_path)


def test_a_cluster_whose_state_is_lost_changes_in_waves_and_asks_why(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLUSTERWRIGHT_REASON", raising=False)
    cluster.edit("mtu: 9000", "mtu: 4200")

    preview = cluster.run("preview", "--no-engine")
    assert "devices hold files that no state knows of" in preview.stdout
    assert "away for a while" in preview.stdout
    assert "at once" not in preview.stdout + preview.stderr
    silent = cluster.run("up", "--yes")
    assert (silent.returncode, "say why for the audit log" in silent.stderr) == (2, True)
    done = cluster.run("up", "--yes", "--reason", "the state was lost")
    assert done.returncode == 0, done.stderr
    assert " waves: " in done.stderr
    assert "nothing changed" in cluster.run("up", "--yes").stderr


def test_a_refresh_takes_up_what_runs(cluster: Cluster) -> None:
    held = {path: path.read_bytes() for path in (cluster.root / "flash").rglob("*") if path.is_file()}
    cluster.edit(SERVER, "10.99.240.15")

    result = cluster.run("refresh", "--reason", "a new control node")
    assert result.returncode == 0, result.stderr
    assert "taken up as they are" in result.stderr
    assert held == {path: path.read_bytes() for path in (cluster.root / "flash").rglob("*") if path.is_file()}
    preview = json.loads(cluster.run("preview", "--no-engine", "--format", "json").stdout)
    assert {group["status"] for group in preview["groups"]} == {"drifted"}
    assert preview["waves"]
    assert {wave["effect"] for wave in preview["waves"]} == {"live"}


def test_what_is_kept_of_a_spec_is_what_was_deployed(deployed: Cluster) -> None:
    deployed.edit(SERVER, "10.99.240.15")
    edit = f"sed -i s/10.99.240.15/10.99.240.16/ {deployed.spec}"
    done = deployed.run("up", "--yes", "--reason", "a new log server", "--probe", edit)
    assert done.returncode == 0, done.stderr
    assert "10.99.240.16" in deployed.spec.read_text()

    preview = deployed.run("preview", "--no-engine")
    (value,) = (line for line in preview.stdout.splitlines() if line.startswith("  ~ site.management.syslog"))
    before, _, after = value.partition(" → ")
    assert ("10.99.240.15" in before, "10.99.240.16" in after) == (True, True)
    assert "no value of the spec changed" not in preview.stdout


def test_a_dead_device_that_is_out_of_service_stops_no_rollout_and_is_owed_what_changes(deployed: Cluster) -> None:
    text = deployed.spec.read_text()
    device = deployed.root / "flash" / "svc-v00n0"
    aside = deployed.folder / "aside"
    dead = "exceptions:\n  - {device: svc-v00n0, state: out-of-service, reason: its board}\n"
    device.rename(aside)
    device.touch()  # nothing can be put there any more
    changed = text.replace("qps_per_connection: 4", "qps_per_connection: 2").replace(SERVER, "10.99.240.17")
    deployed.spec.write_text(f"{changed}\n{dead}")

    done = deployed.run("up", "--yes", "--reason", "a board is dead")
    assert done.returncode == 0, done.stderr
    assert "left out, as out of service: svc-v00n0" in done.stderr
    assert "while devices out of service keep what they have: slurm does not hold" in done.stdout + done.stderr
    again = deployed.run("up", "--yes")
    assert (again.returncode, "nothing changed" in again.stderr) == (0, True), again.stderr
    assert deployed.run("refresh").returncode == 0

    held = {file.relative_to(aside): file.read_bytes() for file in aside.rglob("*.cpio")}
    device.unlink()
    aside.rename(device)
    deployed.spec.write_text(changed)
    back = deployed.run("up", "--yes", "--reason", "a new board")
    assert back.returncode == 0, back.stderr
    assert held != {file.relative_to(device): file.read_bytes() for file in device.rglob("*.cpio")}


def test_pulumi_s_own_command_changes_nothing_that_runs_without_a_reason(deployed: Cluster) -> None:
    stack = "lab-roce-services-rack0"
    project = deployed.root / "project"

    def pulumi(action: str, **environment: str) -> CompletedProcess[str]:
        words = [
            "pulumi",
            action,
            "--stack",
            stack,
            "--non-interactive",
            *(["--yes", "--skip-preview"] if action == "up" else []),
        ]
        env = {**pulumi_environment(deployed.root), **environment}
        return subprocess.run(words, cwd=project, env=env, capture_output=True, text=True, check=False)

    deployed.spec.write_text(re.sub(r"qps_per_connection: \d", "qps_per_connection: 8", deployed.spec.read_text()))

    preview, refused = pulumi("preview"), pulumi("up")
    assert "would change all at once: without waves" in preview.stdout
    assert refused.returncode != 0
    assert "`clusterwright up` changes what runs" in refused.stdout + refused.stderr
    done = pulumi("up", CLUSTERWRIGHT_AT_ONCE="nobody uses it yet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert pulumi("up").returncode == 0


def test_a_boot_server_keeps_what_nodes_boot_until_somebody_built_the_image(deployed: Cluster) -> None:
    folder_of_scripts = deployed.root / "flash/svc-v00n0/srv/http/by-mac"
    scripts = {path: path.read_bytes() for path in folder_of_scripts.iterdir()}
    deployed.edit("packages: [", "packages: [nano, ")
    held = deployed.run("up", "--yes", "--reason", "an editor")
    assert held.returncode == 0, held.stderr
    (release,) = re.findall(r"to be built: (\S+), which svc-v00n0 lacks", held.stderr)
    assert scripts == {path: path.read_bytes() for path in folder_of_scripts.iterdir()}
    assert deployed.run("preview", "--no-engine", "--expect-no-changes").returncode == 4

    images = folder_of_scripts.parent / "images"
    for ending in ("vmlinuz", "cpio.zst"):
        (images / f"{release}.{ending}").touch()
    sent = deployed.run("up", "--yes", "--reason", "the image is built")
    assert sent.returncode == 0, sent.stderr
    assert all(release.encode() in path.read_bytes() for path in folder_of_scripts.iterdir())
