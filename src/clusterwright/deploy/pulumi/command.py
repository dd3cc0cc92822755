"""Find, check and run the command ``pulumi``."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from pulumi import automation
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from clusterwright.child_environment import child_environment
from clusterwright.finding import ClusterwrightError

_MAJOR, _LEAST_MINOR = 3, 100
"""The engine's interface is that of Pulumi 3; tools/build-pulumi builds a newer one than required here."""

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+\S*)")
_ANSWER_S = 60
_BUILDER = Path(__file__).resolve().parents[4] / "tools" / "build-pulumi"


def how_to_install() -> str:
    """Advice on installing Pulumi's program, for a checkout and for an installed package."""
    if _BUILDER.is_file():
        return f'Install Pulumi 3, or build it: PATH="$({_BUILDER}):$PATH".'
    return (
        "Pulumi 3 is a program of its own, which no Python package brings: https://www.pulumi.com/docs/install/ has it "
        "for every system. What asks no device, as lint, render, verify and report, needs none."
    )


@cache
def _asked(program: str) -> tuple[str, VersionInfo]:
    """The ``program`` and its version, queried once a process: a query costs as much as a start for an update.

    Raises ClusterwrightError for any program but Pulumi 3.
    """
    try:
        done = subprocess.run(
            [program, "version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_ANSWER_S,
            env=child_environment(prefixes=["PULUMI_"]) | {"PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterwrightError(f"{program} cannot be run: {error}. {how_to_install()}") from None
    match = _VERSION.fullmatch(done.stdout.strip())
    if done.returncode != 0 or match is None or not VersionInfo.is_valid(match[1]):
        raise ClusterwrightError(f"{program} does not say which version of Pulumi it is. {how_to_install()}")
    version = VersionInfo.parse(match[1])
    if version.major != _MAJOR or version.minor < _LEAST_MINOR:
        needed = f"3.{_LEAST_MINOR} or newer is needed"
        raise ClusterwrightError(f"{program} is Pulumi {version}, and {needed}. {how_to_install()}")
    return program, version


class OwnGroup(automation.PulumiCommand):
    """Runs every command of Pulumi in a process group of its own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.command, self.version = _asked(shutil.which("pulumi", path=environment["PATH"]) or "pulumi")
        self._running: set[int] = set()
        self._lock = threading.Lock()

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: automation.OnOutput | None = None,
        on_error: automation.OnOutput | None = None,
    ) -> automation.CommandResult:
        """Run a command like the base class. Raises CommandError."""
        # The workspace's variables are the whole environment: nothing else of this process goes along.
        environment = {**additional_env, "PULUMI_AUTOMATION_API": "true"}
        with subprocess.Popen(
            [self.command, "--non-interactive", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        ) as process:
            with self._lock:
                self._running.add(process.pid)
            try:
                # One of the two pipes would fill up while the other is read.
                with ThreadPoolExecutor(1) as reader:
                    errors = reader.submit(_lines, process.stderr, on_error)
                    output = _lines(process.stdout, on_output)
                code = process.wait()
            finally:
                with self._lock:
                    self._running.discard(process.pid)
        result = automation.CommandResult(output, errors.result(), code)
        if code != 0:
            raise create_command_error(result)
        return result

    def send(self, number: signal.Signals) -> None:
        """Send a signal to every running command: on SIGINT the engine finishes its steps and stops."""
        with self._lock:
            for pid in self._running:
                with suppress(ProcessLookupError):
                    os.killpg(pid, number)


def _lines(stream: IO[str] | None, on_output: automation.OnOutput | None) -> str:
    lines = []
    for line in stream or ():
        lines.append(line.rstrip())
        if on_output:
            on_output(lines[-1])
    return "\n".join(lines)
