"""What systemd runs of the tree without touching a service: its timers, and the limits that it gives to services."""

from __future__ import annotations

import os
import re

from ansible.module_utils.clusterwright_files import WantedFiles
from ansible.module_utils.clusterwright_running import Changes, Exempt, RunningChange, lines_of, run_program

_UNITS_FOLDER = "etc/systemd/system"
_BINARY = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


class Timers:
    """Timers that the tree wants at boot run now too, and those that it masks do not.

    Services are left alone: a job may be running on them. A timer only starts what is wanted anyway.
    """

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        asked: dict[str, str] = {}
        if os.path.isdir("/run/systemd/system"):
            for _, _, line in lines_of(wanted, _UNITS_FOLDER + "/multi-user.target.d"):
                key, _, names = line.partition("=")
                if key.strip() == "Wants":
                    asked.update(dict.fromkeys((name for name in names.split() if name.endswith(".timer")), "active"))
            for path in wanted:
                folder, name = os.path.split(path)
                if folder == _UNITS_FOLDER and name.endswith(".timer") and not wanted[path].content:
                    asked[name] = "inactive"
        self.exempted = sorted(name for name in asked if exempt("timer:" + name))
        self.asked = {name: state for name, state in sorted(asked.items()) if name not in self.exempted}

    def check(self) -> None:
        """Units are judged where they are rendered."""

    def compare(self) -> list[RunningChange]:
        """Timers that run and should not, or the other way round."""
        changes = []
        # One line for each; of a systemd that does not answer there is none, and starting them says why.
        told = run_program(["systemctl", "is-active", *self.asked]).stdout.split() if self.asked else []
        states = dict(zip(self.asked, told))
        for name, wanted in self.asked.items():
            running = states.get(name) in ("active", "reloading")
            if running != (wanted == "active"):
                changes.append(RunningChange("timer:" + name, "active" if running else "inactive", wanted))
        return changes

    def converge(self, changes: Changes) -> None:
        """Start and stop them."""
        for change in changes:
            verb, name = "start" if change.after == "active" else "stop", change.name.partition(":")[2]
            run_program(["systemctl", verb, name], refused=f"systemd does not {verb} {name}")

    def restore(self, changes: Changes) -> None:
        """As they were; a timer whose unit came with the failed tree is gone with it."""
        for change in changes:
            run_program(["systemctl", "start" if change.before == "active" else "stop", change.name.partition(":")[2]])


class ManagerLimits:
    """Default limits of etc/systemd/system.conf.d, which systemd reads when it starts and when it is told to."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        running = os.path.isdir("/run/systemd/system")
        lines = list(lines_of(wanted, "etc/systemd/system.conf.d")) if running else []
        pairs = (line.partition("=") for _, _, line in lines)
        asked = {key.strip(): _number(value.strip()) for key, _, value in pairs if key.startswith("DefaultLimit")}
        self.exempted = sorted(name for name in asked if exempt("limit:" + name))
        self.asked = {name: value for name, value in sorted(asked.items()) if name not in self.exempted}

    def check(self) -> None:
        """Limits are judged where they are rendered."""

    def compare(self) -> list[RunningChange]:
        """Limits that systemd gives otherwise."""
        if not self.asked:
            return []
        shown = run_program(["systemctl", "show", "--property=" + ",".join(self.asked)]).stdout
        held = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
        return [
            RunningChange("limit:" + name, held.get(name), value)
            for name, value in self.asked.items()
            if held.get(name) != value
        ]

    def converge(self, changes: Changes) -> None:
        """Have systemd read its settings; services that run keep the limits they were started with."""
        if changes:
            run_program(["systemctl", "daemon-reload"], refused="systemd does not read its settings again")

    def restore(self, changes: Changes) -> None:
        """The files are back; have them read."""
        self.converge(changes)


def _number(value: str) -> str:
    """A limit as systemd shows it: bytes and counts without a suffix."""
    scaled = re.match(r"^(\d+)([KMGT])$", value)
    return str(int(scaled.group(1)) * _BINARY[scaled.group(2)]) if scaled else value
