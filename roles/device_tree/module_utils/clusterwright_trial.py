"""A packet filter on trial: loaded, and taken back by the device itself unless it is reached anew.

Only the kernel's ruleset changes in a trial. The files follow when the control node came back over a new connection,
so that a device that starts anew in between starts with its previous filter.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import subprocess
import time
from typing import Callable

from ansible.module_utils.clusterwright_files import Refused, Tree
from ansible.module_utils.clusterwright_running import run_program

MARGIN_S = 5
PENDING, REVERTED, CONFIRMED = "pending", "reverted", "confirmed"
# Renaming decides who was first, the one who confirms or this script.
_TAKE_BACK = 'sleep "$1"; mv -T "$2" "$3" && exec nft --file "$3/previous.nft"'


class Trial:
    """The trial of a device; there is at most one. Its folder bears its token: who takes back, takes back this one."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def begin(self, previous: str, load: Callable[[], None], trial_s: int) -> str:
        """``load`` a filter; ``previous`` comes back after ``trial_s`` unless confirmed. Returns a token."""
        token = secrets.token_hex(8)
        pending = self._folder(PENDING, token)
        os.makedirs(pending, mode=0o700)
        self.tree.write(os.path.join(pending, "previous.nft"), previous.encode(), 0o600)
        self.tree.write(os.path.join(pending, "terms"), f"{_boot()} {trial_s}\n".encode(), 0o600)
        self._arm(token, trial_s)
        try:
            load()
        except Refused:
            self._forget()
            raise
        return token

    def _arm(self, token: str, trial_s: int) -> None:
        folders = [self._folder(PENDING, token), self._folder(REVERTED, token)]
        command = ["/bin/sh", "-c", _TAKE_BACK, "trial", str(trial_s), *folders]
        start_apart(command, "clusterwright-trial-" + token, "the packet filter cannot be tried: systemd-run")

    def confirm(self, token: str) -> str:
        """Keep the filter on trial; returns the ruleset that ran before it. Raises Refused when it was taken back."""
        confirmed = self._folder(CONFIRMED, token)
        try:
            os.rename(self._folder(PENDING, token), confirmed)
        except FileNotFoundError as error:
            raise Refused(
                "nobody reached this device anew under its new packet filter; it took the filter back by itself"
            ) from error
        with open(os.path.join(confirmed, "previous.nft")) as stream:
            previous = stream.read()
        self._forget()
        return previous

    def settle(self) -> None:
        """Wait for the end of a trial that a run left behind, and end it when nobody does. Call it under the lock."""
        for pending in self._folders(PENDING):
            try:
                with open(os.path.join(pending, "terms")) as stream:
                    boot, trial_s = stream.read().split()
            except (FileNotFoundError, ValueError):
                continue  # it died before anything was loaded
            end = time.monotonic() + int(trial_s) + MARGIN_S
            while os.path.isdir(pending) and boot == _boot() and time.monotonic() < end:
                time.sleep(0.2)
            if os.path.isdir(pending) and boot == _boot():
                previous = os.path.join(pending, "previous.nft")
                run_program(["nft", "--file", previous], refused="nft refuses the previous ruleset")
        self._forget()

    def _folder(self, state: str, token: str) -> str:
        return os.path.join(self.tree.state, f"trial-{state}-{token}")

    def _folders(self, state: str) -> list[str]:
        return sorted(glob.glob(self._folder(state, "*")))

    def _forget(self) -> None:
        for folder in self._folders("*"):
            shutil.rmtree(folder, ignore_errors=True)


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as stream:
        return stream.read().strip()


def start_apart(command: list[str], unit: str, refused: str) -> None:
    """Start what outlives this login: outside its control group, which may be ended with it. Raises Refused."""
    if os.path.isdir("/run/systemd/system"):
        run_program(["systemd-run", "--quiet", "--collect", "--unit", unit, *command], refused=refused)
        return
    environment = dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    nothing = subprocess.DEVNULL
    subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/", env=environment
    )
