"""A rollout over a running lab cluster, by the real engine: approved, paused, stopped, interrupted, audited."""

from __future__ import annotations

import getpass
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import command

from clusterwright import __version__
from clusterwright.data_files import folder

COMMAND = str(Path(sys.executable).parent / "clusterwright")
HOLDER = """
import sys
from pathlib import Path
from clusterwright.deploy.locks import StackLocks
locks = StackLocks(Path(sys.argv[1]))
locks.take("lab-roce", "up")
print("held", flush=True)
sys.stdin.read()
"""
BACKLOG = "net.core.netdev_max_backlog"

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]


@dataclass(frozen=True)
class Site:
    root: Path
    spec: Path

    def words(self, action: str, *options: str) -> list[str]:
        return [action, str(self.spec), "--pod", "pod0", "--root", str(self.root), *options]

    def run(self, action: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return command(*self.words(action, *options), cwd=self.spec.parent, environment=environment)

    def audit(self, what: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
        return command("audit", what, self.root, *options, cwd=self.spec.parent)

    def set_backlog(self, value: int) -> None:
        """One setting of every node: two racks change, so one is the canary."""
        lines = (folder("inventory") / "lab-roce.yaml").read_text()
        self.spec.write_text(lines.replace(f"{BACKLOG}: 250000", f"{BACKLOG}: {value}"))

    def backlogs(self) -> dict[str, int]:
        files = sorted((self.root / "flash").glob("gpu-*/etc/sysctl.d/90-clusterwright.conf"))
        found = {}
        for file in files:
            (line,) = (line for line in file.read_text().splitlines() if line.startswith(BACKLOG))
            found[file.relative_to(self.root / "flash").parts[0]] = int(line.partition("=")[2])
        return found

    def record(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / "audit" / "rollouts.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    place = tmp_path_factory.mktemp("waves")
    shutil.copy(folder("inventory") / "lab-roce.yaml", place / "lab-roce.yaml")
    found = Site(place / "up", place / "lab-roce.yaml")
    done = found.run("up", CLUSTERWRIGHT_REASON="")
    assert done.returncode == 0, done.stdout + done.stderr
    return found


def in_racks(first: int, second: int) -> dict[str, int]:
    return {"gpu-p00r00n0": first, "gpu-p00r00n1": first, "gpu-p00r01n0": second, "gpu-p00r01n1": second}


def test_a_rollout_from_its_approval_to_its_record(site: Site, tmp_path: Path) -> None:
    approval = tmp_path / "approved.json"
    site.set_backlog(260000)

    preview = site.run("preview", "--save", str(approval))
    assert preview.returncode == 0, preview.stderr

    # A run that nobody can be asked about has to say why.
    silent = site.run("up", CLUSTERWRIGHT_REASON="")
    assert silent.returncode == 2
    assert "say why for the audit log" in silent.stderr

    # What is approved is sent, or nothing.
    site.set_backlog(270000)
    other = site.run("up", "--approved", str(approval))
    assert other.returncode == 2
    assert "the spec differs from the approved preview, on gpu-p00r00n0" in other.stderr
    assert site.backlogs() == in_racks(250000, 250000)

    # The canary goes first; the rollout waits after it, and goes on where it was.
    site.set_backlog(260000)
    paused = site.run("up", "--approved", str(approval), "--pause-after", "1", "--reason", "deeper queues")
    assert paused.returncode == 4, paused.stdout + paused.stderr
    assert site.backlogs() == in_racks(260000, 250000)
    assert "up paused: wave 2 of 2 is next. The same command goes on from here." in paused.stderr

    done = site.run("up", "--approved", str(approval), "--reason", "deeper queues")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "goes on at wave 2 of 2" in done.stderr
    assert site.backlogs() == in_racks(260000, 260000)

    # The same preview does not fit twice: what devices were given is no longer what it showed.
    again = site.run("up", "--approved", str(approval))
    assert again.returncode == 2
    assert "devices were given something else since the preview was made" in again.stderr

    own = [entry for entry in site.record() if entry.get("rollout") == site.record()[-1]["rollout"]]
    assert [entry["event"] for entry in own] == ["started", "wave", "ended", "resumed", "wave", "ended"]
    assert own[0]["reason"] == "deeper queues"
    assert own[0]["preview"]["text"] == json.loads(approval.read_text())["text"]
    assert own[0]["manifest"] == json.loads(approval.read_text())["manifest"]
    assert own[4]["devices"] == {"gpu-p00r01n0": "ok", "gpu-p00r01n1": "ok"}


def test_a_probe_that_complains_stops_behind_the_canary(site: Site, tmp_path: Path) -> None:
    before = site.backlogs()["gpu-p00r01n0"]
    probe = tmp_path / "probe"
    probe.write_text("#!/bin/sh\ncat >/dev/null\necho 'gpu-p00r00n1: one of 8 adapters is down'\n")
    probe.chmod(0o755)
    site.set_backlog(280000)

    done = site.run("up", "--probe", str(probe))

    assert done.returncode == 3, done.stdout + done.stderr
    assert "gpu-p00r00n1: one of 8 adapters is down" in done.stdout
    assert site.backlogs() == in_racks(280000, before)

    # Mended, the same command goes on with the wave that was not finished.
    probe.write_text("#!/bin/sh\ncat >/dev/null\n")
    assert site.run("up", "--probe", str(probe)).returncode == 0
    assert site.backlogs() == in_racks(280000, 280000)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_finishes_the_running_wave_and_starts_no_other(
    site: Site, tmp_path: Path, number: signal.Signals
) -> None:
    before = site.backlogs()["gpu-p00r01n0"]
    site.set_backlog(290000 + number)
    events = tmp_path / "events"
    # A shell that starts the tests in the background, or under nohup, has all that they start ignore such signals.
    command = ["env", "--default-signal=INT,TERM,HUP", COMMAND, *site.words("up", "--events", str(events))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (events.exists() and '"wave-started"' in events.read_text()):
            time.sleep(0.05)
        process.send_signal(number)
        _, stderr = process.communicate()

    assert process.returncode == 130, stderr
    assert "what runs is finished, nothing new is started" in stderr
    assert "up aborted: wave 2 of 2 is next" in stderr
    assert site.backlogs() == in_racks(290000 + number, before)
    assert site.run("up").returncode == 0
    assert site.backlogs() == in_racks(290000 + number, 290000 + number)


def test_another_terminal_sees_it_and_stops_it(site: Site, tmp_path: Path) -> None:
    before = site.backlogs()["gpu-p00r01n0"]
    site.set_backlog(300000)
    idle = command("status", site.root, cwd=tmp_path)
    assert (idle.returncode, "no change is running" in idle.stdout) == (0, True)
    assert command("stop", site.root, cwd=tmp_path).returncode == 2
    events = tmp_path / "events"
    words = ["env", "--default-signal=TERM", COMMAND, *site.words("up", "--events", str(events), "--reason", "deeper")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (events.exists() and '"wave-started"' in events.read_text()):
            time.sleep(0.05)
        at_work = command("status", site.root, cwd=tmp_path)
        described = json.loads(command("status", site.root, "--format", "json", cwd=tmp_path).stdout)
        result = command("stop", site.root, cwd=tmp_path)
        _, stderr = process.communicate()

    assert at_work.returncode == 4
    assert f"lab-roce is being changed (up) by {getpass.getuser()}@" in at_work.stdout
    assert "0 of 2 waves finished" in at_work.stdout
    assert {owner["lock"] for owner in described["at_work"]} == {"lab-roce", "lab-roce-pod0"}
    assert result.returncode == 0
    assert "finishes the running wave and starts nothing new" in result.stdout
    assert process.returncode == 130, stderr
    assert site.backlogs() == in_racks(300000, before)
    waits = command("status", site.root, cwd=tmp_path)
    assert (waits.returncode, "1 of 2 waves finished; the same command goes on" in waits.stdout) == (4, True)
    assert site.run("up").returncode == 0
    assert command("status", site.root, cwd=tmp_path).returncode == 0


def test_a_second_operator_is_told_who_is_at_work(site: Site) -> None:
    holder = [sys.executable, "-c", HOLDER, str(site.root / "locks")]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        refused = site.run("up")
        other.kill()  # nobody has to clean up behind it
        other.communicate()

    assert refused.returncode == 2
    assert f"lab-roce is being changed (up) by {getpass.getuser()}@" in refused.stderr
    assert f"(pid {other.pid}) since " in refused.stderr
    assert site.run("refresh").returncode == 0


def test_the_record_is_exported_and_no_line_of_it_can_be_changed(site: Site, tmp_path: Path) -> None:
    assert site.audit("verify").returncode == 0
    assert {entry["program"] for entry in site.record()} == {__version__}
    assert len(site.audit("show").stdout.splitlines()) == len({entry["rollout"] for entry in site.record()})
    out = tmp_path / "audit.json"
    assert site.audit("export", "--out", out).returncode == 0
    assert sum(len(each["entries"]) for each in json.loads(out.read_text())["rollouts"]) == len(site.record())

    log = site.root / "audit" / "rollouts.jsonl"
    text = log.read_text()
    log.write_text(text.replace('"reason": ""', '"reason": "of course"', 1))
    refused = site.audit("verify")
    log.write_text(text)

    assert refused.returncode == 2
    assert "rollouts.jsonl:1: the line was changed after it was written" in refused.stderr
