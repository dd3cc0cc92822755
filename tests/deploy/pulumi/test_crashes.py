"""Kills, full disks, damaged state, second operators and clocks that jump: the same command again ends it well."""

from __future__ import annotations

import contextlib
import getpass
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.deploy.pulumi.drive_stack import drive
from tests.deploy.pulumi.rendered_pod import Deployed, RenderedPod, keep, render_pod
from tests.deploy.pulumi.site import STACK, Held, Site, site_in

from clusterwright.deploy.locks import StackLocks

UNITS = 4  # racks and cluster switches of the pod
PREPARED = multiprocessing.get_context("forkserver")
PREPARED.set_forkserver_preload(["__main__", "tests.deploy.pulumi.drive_stack"])
KILLED = 3  # exit status of a run that stopped, besides the one of a killed driver

OVER = "it was over before"

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


class Driver:
    """The driver of one stack in a process of its own: the cheaper one to kill many times.

    It is forked from a process that has imported all that it needs: that would take longer than what it does.
    """

    def __init__(self, site: Site) -> None:
        self._process = PREPARED.Process(target=drive, args=(site.spec, site.root, site.events))
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> None:
        self._process.join()


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> RenderedPod:
    return render_pod(tmp_path_factory.mktemp("pod"))


@pytest.fixture
def site(tmp_path: Path, pod: RenderedPod) -> Site:
    pod.put_spec_back()
    return site_in(tmp_path, pod)


def descendants(pid: int) -> dict[int, str]:
    """The process and all below it, with their command lines."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = {}, [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            found[one] = (Path("/proc") / str(one) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        waiting += children.get(one, [])
    return found


def victims(driver: int, victim: str) -> list[int]:
    """Whom to kill: the processes that ``victim`` names, the driver first."""
    processes = descendants(driver)
    if victim == "group":
        return list(processes)
    names = {"engine": "/pulumi --non-interactive up ", "provider": "pulumi-resource-clusterwright"}
    return [driver] if victim == "driver" else [pid for pid, line in processes.items() if names[victim] in line]


def started_units(events: Path) -> int:
    """How many units have begun; less than none as long as not even the stack has."""
    text = events.read_text() if events.exists() else ""
    return text.count('"unit-started"') if '"stack-started"' in text else -1


def kill_at(driver: Driver | subprocess.Popen[bytes], events: Path, victim: str, units: int, more_s: float) -> bool:
    """Kill ``victim`` ``more_s`` after ``units`` units began; False if ``driver`` had ended by then."""
    while driver.poll() is None and started_units(events) < units:
        time.sleep(0.02)
    time.sleep(more_s)
    killed = victims(driver.pid, victim) if driver.poll() is None else []
    for pid in killed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    driver.wait()
    return bool(killed)


def moments() -> list[tuple[str, int, float]]:
    """Twenty: who dies, after how many units have begun, and how much later in seconds."""
    chance = random.Random(24_576)
    return [
        (
            victim,
            chance.randint(0 if victim in ("driver", "group") else 1, UNITS - 1),
            round(chance.uniform(0, 0.15), 3),
        )
        for victim in ("engine", "provider", "driver", "group")
        for _ in range(5)
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, pod: RenderedPod) -> Deployed:
    """An update that nothing disturbed, and that rendered by itself."""
    pod.put_spec_back()
    site = Site(tmp_path_factory.mktemp("undisturbed") / "up", pod.spec)
    site.up()
    return keep(site.root)


@pytest.fixture(scope="module")
def finished(undisturbed: Deployed, pod: RenderedPod) -> Held:
    """What such an update leaves."""
    undisturbed.put_back()
    site = Site(undisturbed.root, pod.spec)
    return site.recorded(), site.held()


@pytest.fixture
def deployed(undisturbed: Deployed, pod: RenderedPod) -> Site:
    """Where that update has ended, and nothing else was done."""
    pod.put_spec_back()
    undisturbed.put_back()
    return Site(undisturbed.root, pod.spec)


def suffer(
    site: Site,
    driver: Driver | subprocess.Popen[bytes],
    again: Callable[[], str],
    moment: tuple[str, int, float],
    finished: Held,
) -> str:
    """Kill once, do the same ``again``, and say what is then not as it should be; "" when all is well."""
    victim, units, more_s = moment
    where = f"{victim} killed {more_s} s after {units} units had begun"
    if not kill_at(driver, site.events, *moment):
        return OVER
    if complaint := again():
        return f"{where}: {complaint}"
    if (site.recorded(), site.held()) != finished:
        return f"{where}: state or devices are not what an undisturbed update leaves"
    return ""


def driven(site: Site) -> str:
    """What the driver of the stack complains of."""
    ran = drive(site.spec, site.root, site.events)
    return "" if ran.ok else ran.reason or "failed without a reason"


def updated(site: Site) -> str:
    """What the whole command complains of."""
    done = site.program()
    return done.stdout + done.stderr if done.returncode or "Traceback" in done.stdout + done.stderr else ""


def test_killed_at_twenty_moments_the_same_driver_converges(tmp_path: Path, pod: RenderedPod, finished: Held) -> None:
    pod.put_spec_back()

    def one(number: int, moment: tuple[str, int, float]) -> str:
        site = site_in(tmp_path / str(number), pod)
        return suffer(site, Driver(site), lambda: driven(site), moment, finished)

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda item: one(*item), enumerate(moments())))
    assert [line for line in told if line not in ("", OVER)] == []
    assert told.count(OVER) <= 10, "most updates were over before they could be killed"


@pytest.mark.parametrize("victim", ["engine", "group", "driver"])
def test_killed_the_same_command_converges_and_a_third_changes_nothing(site: Site, finished: Held, victim: str) -> None:
    command_line = site.update("--events", str(site.events))
    with subprocess.Popen(command_line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        assert suffer(site, driver, lambda: updated(site), (victim, 2, 0.0), finished) == ""

    inodes = {path: path.stat().st_ino for path in (site.root / "flash").rglob("*")}
    assert "nothing changed" in site.up()
    assert {path: path.stat().st_ino for path in (site.root / "flash").rglob("*")} == inodes


@pytest.mark.parametrize("left", [0, 3000, "all but the end"])
@pytest.mark.parametrize("copy", ["whole", "cut", "gone"])
def test_a_state_that_was_cut_off_is_put_back_or_made_anew_and_said(deployed: Site, left: int | str, copy: str) -> None:
    """As a full disk leaves it: the same command stopped at it for ever, though the copy beside it was whole."""
    site = deployed
    before, files = site.held(), {path: path.stat().st_ino for path in (site.root / "flash").rglob("*")}
    content, kept = site.state.read_bytes(), site.state.with_name(f"{site.state.name}.bak")
    cut = content.rstrip()[:-1].rstrip() if isinstance(left, str) else content[:left]
    site.state.write_bytes(cut)
    if copy == "cut":
        kept.write_bytes(kept.read_bytes()[:100])
    elif copy == "gone":
        kept.unlink()

    done = site.run()

    assert done.returncode == 0, done.stderr
    said = "the one before it was put back" if copy == "whole" else "every device is compared"
    assert said in done.stderr
    assert site.held() == before
    assert {path: path.stat().st_ino for path in (site.root / "flash").rglob("*")} == files
    assert "was cut off" not in site.up()


def test_a_torn_sidecar_of_an_engine_that_writes_them_is_no_obstacle(deployed: Site) -> None:
    site = deployed
    site.state.with_name(site.state.name + ".attrs").touch()

    assert "nothing changed" in site.up()


def test_a_second_operator_is_told_who_is_at_work_and_since_when(site: Site) -> None:
    locks = StackLocks(site.root / "locks")
    locks.take(STACK, "up")

    second = site.run()
    locks.close()

    assert second.returncode == KILLED
    me = f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()})"
    assert f"{STACK} is being changed (up) by {me} since " in second.stderr + second.stdout
    assert "ago. Wait for that to end, or stop it. Nothing was done." in second.stderr + second.stdout
    assert not (site.root / "flash").exists()


def test_two_operators_at_once_do_what_one_does(site: Site, finished: Held) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: site.program(), range(2)))

    told = "".join(done.stdout + done.stderr for done in both)
    assert any(done.returncode == 0 for done in both), told
    assert "Traceback" not in told
    for done in both:
        # The cluster is locked, or the stack; without a name, if the first one is left waiting for more than a second.
        assert done.returncode == 0 or " is being changed " in done.stderr + done.stdout, told
    assert (site.recorded(), site.held()) == finished


def test_somebody_at_work_on_another_machine_is_not_disturbed(deployed: Site) -> None:
    site = deployed
    folder = site.root / "state" / ".pulumi" / "locks" / "organization" / "clusterwright" / STACK
    folder.mkdir(parents=True, exist_ok=True)
    since = datetime.now(UTC) - timedelta(minutes=7)
    lock = {"pid": 812, "username": "ann", "hostname": "control-1", "timestamp": since.isoformat()}
    (folder / "6f4ef5e3-1007-41e1-9dfb-3e0c93da8756.json").write_text(json.dumps(lock))

    # An update that has nothing to do only reads; a refresh drives the stack.
    options = (word for word in site.update()[2:] if word != "--yes")
    locked = command("refresh", *options, cwd=site.spec.parent)

    told = locked.stdout + locked.stderr
    assert locked.returncode == KILLED
    assert f"{STACK} is being changed by ann@control-1 (pid 812) since " in told
    assert "7 minutes ago" in told
    assert f"pulumi cancel --stack {STACK}" in told


def test_a_clock_that_jumps_changes_nothing_but_dates(deployed: Site) -> None:
    """The driver and its program get the wrong time; the engine asks the kernel, and LD_PRELOAD reaches no child."""
    (faketime,) = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    wrong = {"LD_PRELOAD": str(faketime), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    site = deployed
    before = site.held()
    back, ahead = ({**wrong, "FAKETIME": f"{days:+}d"} for days in (-400, 400))

    unchanged = site.program(**back)
    assert (unchanged.returncode, "nothing changed" in unchanged.stderr) == (0, True), unchanged.stderr
    assert site.held() == before

    # A rollout that begins a year back and ends a year ahead is the same rollout, and its record is whole.
    site.give_nodes_another_setting()
    paused = site.program("--pause-after", "1", **back)
    assert paused.returncode == 4, paused.stdout + paused.stderr
    ended = site.program(**ahead)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "goes on at wave 2 of 2" in ended.stderr
    assert "1 waves: 2 devices changed" in ended.stderr
    log = [json.loads(line) for line in (site.root / "audit/rollouts.jsonl").read_text().splitlines()]
    waves = [entry for entry in log if entry["event"] == "wave"]
    assert len({entry["rollout"] for entry in waves}) == 1
    assert all(0 <= entry["duration_s"] < 600 for entry in waves), "durations count on the monotonic clock"
    verified = command("audit", "verify", site.root, cwd=site.root)
    assert verified.returncode == 0, verified.stderr
    assert "nothing changed" in site.up()


def test_a_proxy_of_the_shell_is_none_for_what_stays_on_this_machine(site: Site) -> None:
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done = site.program(**proxies)
    assert done.returncode == 0, done.stderr


def test_damaged_objects_are_holes_that_are_filled_again(deployed: Site, finished: Held) -> None:
    """With the size that they had: each of them ended a preview of its own, with advice that led back to it."""
    site = deployed
    site.give_nodes_another_setting()
    for path in (site.root / "objects").glob("??/*"):
        content = bytearray(path.read_bytes() or b"x")
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    preview = command("preview", site.spec, "--root", site.root, "--pod", "pod0", cwd=site.spec.parent)
    assert preview.returncode == 0, preview.stderr
    site.up()
    assert "nothing changed" in site.up()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"config: 3", b"\0\0", b"\xff\xfe"])
def test_a_configuration_that_was_torn_off_is_written_anew(deployed: Site, content: bytes) -> None:
    file = deployed.root / "project" / f"Pulumi.{STACK}.yaml"
    file.write_bytes(content)
    # An update with nothing to do reads no configuration.
    done = command("refresh", deployed.spec, "--root", deployed.root, "--pod", "pod0", cwd=deployed.spec.parent)
    assert done.returncode == 0, done.stderr
    assert "written anew" in done.stderr
    assert file.with_name(f"{file.name}.damaged").read_bytes() == content


@pytest.mark.parametrize("version", ["v2.25.0", "v4.0.1", "", "hello"])
def test_another_pulumi_is_one_clear_error(site: Site, tmp_path: Path, version: str) -> None:
    fake = tmp_path / "bin" / "pulumi"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho '{version}'\n")
    fake.chmod(0o755)
    done = site.program(PATH=f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 2
    assert str(fake) in done.stderr
    assert "defect" not in done.stderr
