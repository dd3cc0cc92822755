"""The running state that files stand for: sysctls, kernel modules, the nftables ruleset, the host name.

A file can be right while the kernel is not: somebody typed ``sysctl -w``, or a run was killed between the two. So the
kernel is asked each time, in the same run that writes the files, and set where it differs. Each kind of state is a
class with the same four methods: ``check`` refuses before anything was touched, ``compare`` gives the differences,
``converge`` sets them, ``restore`` puts back what ``compare`` had found.
"""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import re
import socket
import subprocess
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ansible.module_utils.clusterwright_files import Refused, Tree, WantedFiles


class RunningChange(NamedTuple):
    """Running state that differs: ``name`` as ``sysctl:net.ipv4.ip_forward``, the rest text; None is absent."""

    name: str
    before: str | None
    after: str


Changes = Sequence[RunningChange]
Exempt = Callable[[str], bool]

NFTABLES_FILE = "etc/nftables.conf"
_LIST = ["nft", "--json", "--stateless", "list", "ruleset"]


def _text(wanted: WantedFiles, path: str) -> str:
    content: bytes = wanted[path].content
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"/{path} is not UTF-8 text: {error}") from error


def lines_of(wanted: WantedFiles, folder: str) -> Iterator[tuple[str, int, str]]:
    """(path, number, stripped line) of the .conf files in ``folder``, in the order in which the system reads them."""
    for path in sorted(wanted):
        if os.path.dirname(path) == folder and path.endswith(".conf"):
            for number, line in enumerate(_text(wanted, path).splitlines(), 1):
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


class Nftables:
    """The packet filter of etc/nftables.conf.

    What a file means once loaded only the kernel can say, so the ruleset is listed right after loading and kept beside
    the manifest with the file's digest. A ruleset that reads differently later is loaded again. Of a file that was not
    loaded from here an empty network namespace says what it means: a machine that booted with it runs it already.
    """

    def __init__(self, wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        self.tree = tree
        self.marker = os.path.join(tree.state, "nftables.json")
        self.exempted = ["running"] if NFTABLES_FILE in wanted and exempt("nftables:running") else []
        self.file = None if self.exempted else wanted.get(NFTABLES_FILE)
        self.saved: str | None = None
        if self.file is not None:
            self.text = _text(wanted, NFTABLES_FILE)
            self.owns_all = re.search(r"^\s*flush\s+ruleset\b", self.text, re.MULTILINE) is not None
            self.tables = set(re.findall(r"^\s*table\s+(?:(\w+)\s+)?([\w-]+)\s*\{", self.text, re.MULTILINE))
            self.tables = {(family or "ip", name) for family, name in self.tables}

    def check(self) -> None:
        """Have nft judge the file. Raises Refused with its message, and for a file that cannot be loaded twice."""
        if self.file is None:
            return
        for family, name in sorted(self.tables):
            emptied = rf"^\s*(?:delete|destroy|flush)\s+table\s+(?:{re.escape(family)}\s+)?{re.escape(name)}\b"
            if not self.owns_all and not re.search(emptied, self.text, re.MULTILINE):
                raise Refused(
                    f"/{NFTABLES_FILE} neither flushes the ruleset nor deletes table {family} {name} first; "
                    "loaded twice it would hold every rule twice"
                )
        ended = run_program(["nft", "--check", "--file", "-"], self.text)
        if ended.returncode != 0:
            raise Refused(f"nft refuses {ended.stderr.strip()}".replace("/dev/stdin", f"/{NFTABLES_FILE}"))

    def _listed(self) -> str:
        ended = run_program(_LIST, refused="nft cannot list the ruleset")
        return self._rules(ended.stdout)

    def _meant(self) -> str | None:
        """What the file gives in an empty network namespace; None where it cannot be loaded there."""
        command = ["unshare", "--net", "sh", "-c", "nft --file - && " + " ".join(_LIST)]
        try:
            ended = run_program(command, self.text)
        except Refused:  # a device without unshare
            return None
        return self._rules(ended.stdout) if ended.returncode == 0 else None

    def _rules(self, listed: str) -> str:
        """The rules of a listing in JSON that the file speaks of, in one spelling."""
        lines = []
        for entry in json.loads(listed)["nftables"]:
            ((kind, body),) = entry.items()
            table = (body.get("family"), body.get("name" if kind == "table" else "table"))
            if kind == "metainfo" or (not self.owns_all and table not in self.tables):
                continue
            body.pop("handle", None)
            if kind in ("set", "map") and {"dynamic", "timeout"} & set(body.get("flags", [])):
                body.pop("elem", None)  # packets fill it
            lines.append(kind + " " + json.dumps(_in_order(body), sort_keys=True))
        return "\n".join(lines) + "\n"

    def _shown(self) -> str:
        what = [["ruleset"]] if self.owns_all else [["table", *table] for table in sorted(self.tables)]
        return "".join(run_program(["nft", "--stateless", "list", *part]).stdout for part in what)

    def compare(self) -> list[RunningChange]:
        """The running ruleset, when it is not what this file gives."""
        if self.file is None:
            return []
        loaded = self._marker()
        running = self._listed()
        if loaded.get("sha256") != self.file.sha256:
            if running == self._meant():
                return []
            return [RunningChange("nftables:running", "ruleset of another file", "ruleset of /" + NFTABLES_FILE)]
        if loaded.get("ruleset") != running:
            # Compared is JSON, which has one spelling; shown are the rules as nft writes them for people.
            return [RunningChange("nftables:running", self._shown(), loaded.get("shown", loaded["ruleset"]))]
        return []

    def converge(self, changes: Changes) -> None:
        """Load the file, which nft does in one transaction, and keep what the kernel then lists."""
        if self.file is None or (not changes and self._marker().get("sha256") == self.file.sha256):
            return
        if changes:
            self.saved = self.saved or self.to_restore()
            run_program(["nft", "--file", self.tree.full(NFTABLES_FILE)], refused="nft refuses what it had accepted")
        marker = {"sha256": self.file.sha256, "ruleset": self._listed(), "shown": self._shown()}
        self.tree.write(self.marker, json.dumps(marker, indent=1, sort_keys=True).encode(), 0o600)

    def restore(self, changes: Changes) -> None:
        """Load the ruleset that ran before; its marker does not hold for it any more if it was written for the new."""
        if self.saved is not None:
            if self.file is not None and self._marker().get("sha256") == self.file.sha256:
                os.unlink(self.marker)
            run_program(["nft", "--file", "-"], self.saved, refused="nft refuses the previous ruleset")

    def _marker(self) -> dict[str, Any]:
        try:
            with open(self.marker) as stream:
                loaded: dict[str, Any] = json.load(stream)
                return loaded
        except (FileNotFoundError, ValueError):
            return {}

    @staticmethod
    def to_restore() -> str:
        """What brings the ruleset back that runs now."""
        return "flush ruleset\n" + run_program(["nft", "--stateless", "list", "ruleset"]).stdout


def _in_order(value: Any) -> Any:
    """Members of sets come in the kernel's hash order: sort them."""
    if isinstance(value, dict):
        return {
            key: sorted((_in_order(item) for item in inner), key=lambda item: json.dumps(item, sort_keys=True))
            if key in ("set", "elem") and isinstance(inner, list)
            else _in_order(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    return value


class HostName:
    """The host name of etc/hostname."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        name = _text(wanted, "etc/hostname").strip() if "etc/hostname" in wanted else None
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
