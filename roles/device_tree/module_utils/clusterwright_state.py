"""All running state of a device that its tree stands for, kind by kind."""

from __future__ import annotations

import fnmatch
from typing import Any, Mapping, Sequence

from ansible.module_utils.clusterwright_accounts import Accounts, Folders, Passwords
from ansible.module_utils.clusterwright_files import Tree, WantedFiles
from ansible.module_utils.clusterwright_filter import NFTABLES_FILE, Nftables
from ansible.module_utils.clusterwright_running import HostName, KernelModules, RunningChange, Sysctls
from ansible.module_utils.clusterwright_switchover import SwitchOver
from ansible.module_utils.clusterwright_systemd import Networkd, SystemdUnits
from ansible.module_utils.clusterwright_timers import ManagerLimits, Timers


class RunningState:
    """All kinds of running state, in the order in which they depend on each other: modules bring sysctls with them."""

    def __init__(
        self, wanted: WantedFiles, exempt_patterns: Sequence[str], switch_overs: Sequence[Mapping[str, Any]], tree: Tree
    ) -> None:
        def exempt(name: str) -> bool:
            return any(fnmatch.fnmatchcase(name, pattern) for pattern in exempt_patterns)

        self.nftables = Nftables(wanted, exempt, tree)
        self.kinds: tuple[tuple[str, Any], ...] = (
            ("module", KernelModules(wanted, exempt)),
            ("sysctl", Sysctls(wanted, exempt)),
            ("nftables", self.nftables),
            ("hostname", HostName(wanted, exempt)),
            ("account", Accounts(wanted, exempt, tree)),
            ("password", Passwords(wanted, exempt)),
            ("folder", Folders(wanted, exempt, tree)),
            # Before systemd reads its units again: limits come with that, and it forgets that a masked timer runs.
            ("timer", Timers(wanted, exempt)),
            ("limit", ManagerLimits(wanted, exempt)),
            ("systemd", SystemdUnits(wanted, exempt, tree)),
            ("systemd", Networkd(wanted, exempt, tree)),
            *(("service", SwitchOver(step, wanted, exempt, tree)) for step in switch_overs),
        )
        self._tried: list[tuple[Any, list[RunningChange]]] = []

    def check(self) -> None:
        """Raises Refused for what can be known to fail before anything was touched."""
        for _, kind in self.kinds:
            kind.check()

    def compare(self) -> list[RunningChange]:
        """All differences between the kernel and the tree."""
        return [change for _, kind in self.kinds for change in kind.compare()]

    def converge(self) -> list[RunningChange]:
        """Set what differs, kind by kind, and return the changes. Raises Refused at the first that cannot be set."""
        for _, kind in self.kinds:
            changes = kind.compare()
            self._tried.append((kind, changes))
            kind.converge(changes)
        return list({change.name: change for _, changes in self._tried for change in changes}.values())

    def reached_anew(self) -> list[SwitchOver]:
        """The programs that are about to be brought onto other files, after which the device has to be reached anew."""
        switch_overs = [kind for _, kind in self.kinds if isinstance(kind, SwitchOver)]
        return [each for each in switch_overs if each.step.get("reach") and each.compare()]

    def came_from(self, ruleset: str) -> None:
        """The packet filter was tried already: ``ruleset`` is what to restore, whatever fails from here on."""
        self.nftables.saved = ruleset
        tried = RunningChange("nftables:running", "ruleset before its trial", "ruleset of /" + NFTABLES_FILE)
        self._tried.append((self.nftables, [tried]))

    def restore(self) -> None:
        """Undo what ``converge`` did, latest first."""
        for kind, changes in reversed(self._tried):
            kind.restore(changes)

    def exempted(self) -> list[str]:
        """What the files ask for and this device cannot hold, as declared: said, so that nobody takes it for done."""
        return sorted(f"{name}:{item}" for name, kind in self.kinds for item in kind.exempted)
