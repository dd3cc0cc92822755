"""What a running systemd has read of the tree: its units, and networkd's networks.

Services are neither started nor restarted: that is for a drained node, and what a tree wants is started at boot.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Mapping

from ansible.module_utils.clusterwright_files import Tree, WantedFiles
from ansible.module_utils.clusterwright_running import Changes, Exempt, RunningChange, run_program

UNITS_FOLDER = "etc/systemd/system"
NETWORK_FOLDER = "etc/systemd/network"


class SystemdUnits:
    """Units whose files changed after systemd read them.

    systemd knows most of these itself (NeedDaemonReload). Up to release 252 at least, it looks for drop-ins in the
    folders that it listed when it last read units (unit_need_daemon_reload in core/unit.c takes unit_path_cache), and
    overlooks a newer folder until it lists them anew for some other unit. So drop-ins are compared with the disk.
    """

    def __init__(self, wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        paths = sorted(path for path in set(wanted) | set(tree.managed()) if path.startswith(UNITS_FOLDER + "/"))
        running = bool(paths) and os.path.isdir("/run/systemd/system")
        self.exempted = ["units"] if running and exempt("systemd:units") else []
        # etc/systemd/system/a.service and etc/systemd/system/a.service.d/b.conf both speak of a.service.
        names = {path.split("/")[3] for path in paths} if running and not self.exempted else set()
        self.names = sorted(name[: -len(".d")] if name.endswith(".d") else name for name in names)
        # A link to /dev/null and an empty file stand for no drop-in (systemd.unit(5)).
        self.drop_ins = [path for path in paths if path in wanted and path.count("/") == 4 and wanted[path].content]

    def check(self) -> None:
        """Units are judged where they are rendered."""

    def compare(self) -> list[RunningChange]:
        """One change for all units that are older than their files."""
        if not self.names:
            return []
        properties = "--property=Id,LoadState,NeedDaemonReload,DropInPaths"
        shown = run_program(["systemctl", "show", properties, "--", *self.names]).stdout
        units = [dict(line.split("=", 1) for line in block.splitlines()) for block in shown.split("\n\n") if block]
        stale = sorted({unit["Id"] for unit in units if self._is_stale(unit)})
        return (
            [RunningChange("systemd:units", f"older than their files: {', '.join(stale)}", "as read")] if stale else []
        )

    def _is_stale(self, unit: Mapping[str, str]) -> bool:
        if unit.get("NeedDaemonReload") == "yes":
            return True
        if unit.get("LoadState") != "loaded":
            return False
        read = unit.get("DropInPaths", "").split()
        if any(not os.path.exists(path) for path in read):
            return True
        folder = f"{UNITS_FOLDER}/{unit['Id']}.d"
        names = {os.path.basename(path) for path in read}
        there = [path for path in self.drop_ins if os.path.dirname(path) == folder and os.path.exists("/" + path)]
        return any(os.path.basename(path) not in names for path in there)

    def converge(self, changes: Changes) -> None:
        """Have systemd read its units again."""
        if changes:
            run_program(["systemctl", "daemon-reload"], refused="systemd does not read its units again")

    def restore(self, changes: Changes) -> None:
        """The files are back; have them read."""
        self.converge(changes)


class Networkd:
    """What networkd was last told to read, kept beside the manifest as a digest: networkd cannot be asked."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        paths = sorted(path for path in wanted if path.startswith(NETWORK_FOLDER + "/"))
        active = bool(paths) and os.path.exists("/run/systemd/netif") and _is_active("systemd-networkd.service")
        self.exempted = ["networkd"] if active and exempt("systemd:networkd") else []
        self.active = active and not self.exempted
        self.tree = tree
        self.marker = os.path.join(tree.state, "networkd.json")
        text = "".join(f"{path}\0{wanted[path].sha256}\n" for path in paths)
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def check(self) -> None:
        """Networks are judged where they are rendered."""

    def compare(self) -> list[RunningChange]:
        """A change when networkd was last told to read other files."""
        if not self.active:
            return []
        try:
            with open(self.marker) as stream:
                read = json.load(stream).get("sha256")
        except (FileNotFoundError, ValueError):
            read = None
        return [] if read == self.digest else [RunningChange("systemd:networkd", "other files", "as read")]

    def converge(self, changes: Changes) -> None:
        """Have networkd read its files; it reconfigures the links whose files changed."""
        if changes:
            run_program(["networkctl", "reload"], refused="networkd does not read its files again")
            self.tree.write(self.marker, json.dumps({"sha256": self.digest}).encode(), 0o600)

    def restore(self, changes: Changes) -> None:
        """The files are back; have them read, and forget what was read for the next run to compare."""
        if changes:
            run_program(["networkctl", "reload"], refused="networkd does not read its files again")
            if os.path.exists(self.marker):
                os.unlink(self.marker)


def _is_active(unit: str) -> bool:
    status: int = run_program(["systemctl", "is-active", "--quiet", unit]).returncode
    return status == 0
