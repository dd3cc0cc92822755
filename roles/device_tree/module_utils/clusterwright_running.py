"""The running state that files stand for: sysctls, kernel modules, the host name; the packet filter has a module.

A file can be right while the kernel is not: somebody typed ``sysctl -w``, or a run was killed between the two. So the
kernel is asked each time, in the same run that writes the files, and set where it differs. Each kind of state is a
class with the same four methods: ``check`` refuses before anything was touched, ``compare`` gives the differences,
``converge`` sets them, ``restore`` puts back what ``compare`` had found.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import socket
import subprocess
from typing import Callable, Iterator, NamedTuple, Sequence

from ansible.module_utils.clusterwright_files import Refused, WantedFiles


class RunningChange(NamedTuple):
    """Running state that differs: ``name`` as ``sysctl:net.ipv4.ip_forward``, the rest text; None is absent."""

    name: str
    before: str | None
    after: str


Changes = Sequence[RunningChange]
Exempt = Callable[[str], bool]


def text_of(wanted: WantedFiles, path: str) -> str:
    """The text of a file of the tree. Raises Refused for other bytes."""
    content: bytes = wanted[path].content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"/{path} is not UTF-8 text: {error}") from error


def lines_of(wanted: WantedFiles, folder: str) -> Iterator[tuple[str, int, str]]:
    """(path, number, stripped line) of the .conf files in ``folder``, in the order in which the system reads them."""
    for path in sorted(wanted):
        if os.path.dirname(path) == folder and path.endswith(".conf"):
            for number, line in enumerate(text_of(wanted, path).splitlines(), 1):
                stripped = line.strip()
                if stripped and stripped[0] not in "#;":
                    yield path, number, stripped


def run_program(command: list[str], stdin: str | None = None, refused: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program of the device. Raises Refused when it is missing, and with ``refused`` when it fails."""
    try:
        ended = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ, LC_ALL="C", PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"),
        )
    except FileNotFoundError as error:
        raise Refused(f"this device lacks {command[0]}, which its tree needs; add it to the image") from error
    if refused and ended.returncode != 0:
        raise Refused(f"{refused}: {ended.stderr.strip()}")
    return ended


class KernelModules:
    """Modules named in etc/modules-load.d: loaded, built in, or loaded now. They are never unloaded."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        self.names: list[str] = []
        self.exempted: list[str] = []
        for _, _, line in lines_of(wanted, "etc/modules-load.d"):
            (self.exempted if exempt("module:" + line) else self.names).append(line)

    def check(self) -> None:
        """Nothing can be said about a module before it is loaded."""

    def compare(self) -> list[RunningChange]:
        """The modules that are missing from the kernel."""
        missing = [name for name in self.names if not os.path.isdir("/sys/module/" + name.replace("-", "_"))]
        if missing:
            built_in = self._built_in()
            missing = [name for name in missing if name.replace("-", "_") not in built_in]
        return [RunningChange("module:" + name, "not loaded", "loaded") for name in missing]

    @staticmethod
    def _built_in() -> set[str]:
        # Not every built-in module has a folder under /sys/module: only those with parameters or a version do.
        try:
            with open(f"/lib/modules/{os.uname().release}/modules.builtin") as stream:
                return {os.path.basename(line.strip())[: -len(".ko")].replace("-", "_") for line in stream}
        except FileNotFoundError:
            return set()

    def converge(self, changes: Changes) -> None:
        """Load what is missing. Raises Refused when the kernel has no such module."""
        for change in changes:
            name = change.name.partition(":")[2]
            run_program(["modprobe", "--", name], refused=f"kernel module {name}")

    def restore(self, changes: Changes) -> None:
        """A module that was loaded for a tree that then failed does no harm, and unloading one can: it stays."""


class Sysctls:
    """Kernel parameters named in etc/sysctl.d, with its rules: later files win, ``-`` tolerates, ``*`` matches."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        self.values: dict[str, str] = {}
        self.tolerated: set[str] = set()
        self.exempted: list[str] = []
        patterns: list[tuple[str, str | None]] = []
        for path, number, line in lines_of(wanted, "etc/sysctl.d"):
            key, equals, value = line.partition("=")
            tolerant, name = key.startswith("-"), _sysctl_path(key.strip().lstrip("-"))
            if (not equals and not tolerant) or not name or name.startswith("/") or ".." in name.split("/"):
                raise Refused(f"/{path}:{number}: {line!r} is not of the form key = value")
            if tolerant:
                self.tolerated.add(name)
            if "*" in name or not equals:
                patterns.append((name, value if equals else None))
            else:
                self.values[name] = " ".join(value.split())
        self._expand(patterns)
        for name in sorted(self.values):
            if exempt("sysctl:" + _sysctl_name(name)):
                self.exempted.append(_sysctl_name(name))
                del self.values[name]

    def _expand(self, patterns: list[tuple[str, str | None]]) -> None:
        # sysctl.d(5): a key spelled out wins over a pattern; a line that is only "-pattern" takes keys out of patterns.
        explicit = set(self.values)
        excluded = [pattern for pattern, value in patterns if value is None]
        for pattern, value in patterns:
            if value is None:
                continue
            for full in glob.glob("/proc/sys/" + pattern):
                name = full[len("/proc/sys/") :]
                if name not in explicit and not any(fnmatch.fnmatchcase(name, other) for other in excluded):
                    self.values[name] = " ".join(value.split())

    def check(self) -> None:
        """Keys may appear when a module is loaded, so that nothing can be refused beforehand."""

    def compare(self) -> list[RunningChange]:
        """The parameters whose running value differs; white space does not count."""
        changes = []
        for name, value in sorted(self.values.items()):
            running = _read_sysctl(name)
            if running != value and not (running is None and name in self.tolerated):
                changes.append(RunningChange("sysctl:" + _sysctl_name(name), running, value))
        return changes

    def converge(self, changes: Changes) -> None:
        """Set what differs and read it back. Raises Refused with the key when the kernel does not take it."""
        for change in changes:
            key = change.name.partition(":")[2]
            name = _sysctl_path(key)
            try:
                _write_sysctl(name, change.after)
            except OSError as error:
                if name in self.tolerated:
                    self.exempted.append(key)
                    del self.values[name]
                    continue
                raise Refused(f"sysctl {key} = {change.after}: {error.strerror}") from error
            running = _read_sysctl(name)
            if running != change.after:
                raise Refused(f"sysctl {key}: the kernel holds {running} after {change.after} was written")

    def restore(self, changes: Changes) -> None:
        """Write back the values found before."""
        for change in changes:
            if change.before is not None and _read_sysctl(_sysctl_path(change.name.partition(":")[2])) != change.before:
                _write_sysctl(_sysctl_path(change.name.partition(":")[2]), change.before)


def _sysctl_path(key: str) -> str:
    """net.ipv4.conf.eth0/1.forwarding and net/ipv4/conf/eth0.1/forwarding are both spellings of one path."""
    dot, slash = key.find("."), key.find("/")
    if slash >= 0 and (dot < 0 or slash < dot):
        return key
    return key.translate(str.maketrans("./", "/."))


def _sysctl_name(path: str) -> str:
    return path.translate(str.maketrans("./", "/."))


def _read_sysctl(path: str) -> str | None:
    try:
        with open("/proc/sys/" + path) as stream:
            return " ".join(stream.read().split())
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        return None


def _write_sysctl(path: str, value: str) -> None:
    # Without O_CREAT: a key that does not exist is "No such file", not "Permission denied".
    descriptor = os.open("/proc/sys/" + path, os.O_WRONLY)
    try:
        os.write(descriptor, value.encode() + b"\n")
    finally:
        os.close(descriptor)


class HostName:
    """The host name of etc/hostname."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        name = text_of(wanted, "etc/hostname").strip() if "etc/hostname" in wanted else None
        self.exempted = [name] if name is not None and exempt("hostname:" + name) else []
        self.name = None if self.exempted else name

    def check(self) -> None:
        """Refuses what is no host name."""
        if self.name is not None and not re.match(r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$", self.name):
            raise Refused(f"/etc/hostname: {self.name!r} is not a host name")

    def compare(self) -> list[RunningChange]:
        """The running name, when it is another."""
        running = os.uname().nodename
        return [RunningChange("hostname:" + self.name, running, self.name)] if self.name not in (None, running) else []

    def converge(self, changes: Changes) -> None:
        """Set it."""
        for change in changes:
            socket.sethostname(change.after)

    def restore(self, changes: Changes) -> None:
        """Set the previous one."""
        for change in changes:
            if change.before is not None:
                socket.sethostname(change.before)
