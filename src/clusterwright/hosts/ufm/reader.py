"""Reading UFM's gv.cfg: sections of ``key = value``, as Python's configparser takes them, and unknown settings.

UFM itself writes several hundred settings there. Most concern monitoring, counters, reports and logs, and touch no
claim; the others, known or not, decide its settings for the subnet manager. Meaning of the settings: "Additional
Configuration" and the appendix "Partitioning" of NVIDIA's UFM Enterprise user manual (6.11 to 6.22).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from clusterwright.facts.unread import BETWEEN, Unread

SETTINGS = "opt/ufm/files/conf/gv.cfg"
SHARP_ENABLED = ("Sharp", "sharp_enabled")
DEFAULT_MEMBERSHIP = ("MngNetwork", "default_membership")
# Whole sections that say what UFM watches, counts, reports and logs, and single settings of others that do.
_WATCHING = frozenset(
    {"DailyReport", "Events", "FabricAnalysis", "IBPM", "Logging", "SrvMgmt", "Telemetry", "UFMAgent"}
)
_WATCHING_KEYS = {
    "Server": frozenset(
        {"dashboard_interval", "default_collection_interval", "ibpm_counters_reset_interval",
         "minimal_collection_interval", "non_opt_links_check_interval", "report_events", "site_name"}
    ),
}  # fmt: skip
# What would change something with another value: who runs the subnet manager, and which ports are taken out of service.
_OFF = {("Server", "monitoring_mode"), ("UnhealthyPorts", "enable_ibdiagnet")}
_NO = frozenset({"0", "no", "false", "off"})
_SECTION = re.compile(r"\[(.+)\]\s*$")
_SETTING = re.compile(r"([^=:\s][^=:]*?)\s*[=:]\s*(.*?)\s*$")


class UfmSetting(NamedTuple):
    """One setting: its line, its section and key (in lower case, as every reader of it takes keys), and its value."""

    line: int
    section: str
    key: str
    value: str

    @property
    def place(self) -> tuple[str, str]:
        """Section and key."""
        return self.section, self.key

    @property
    def is_watching(self) -> bool:
        """Whether it concerns UFM's monitoring and reports alone, and not the subnet manager."""
        if self.place in _OFF:
            return self.value.lower() in _NO
        return self.section in _WATCHING or self.key in _WATCHING_KEYS.get(self.section, ())


def settings(text: str) -> Iterator[UfmSetting | tuple[int, str]]:
    """Every setting, and the line and text of other lines: outside any section, or continued ones."""
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip()[0] in "#;":
            continue
        opens, says = _SECTION.match(line), _SETTING.match(line)
        if opens is not None:
            section = opens[1]
        elif says is None or not section:
            yield number, line.strip()
        else:
            yield UfmSetting(line=number, section=section, key=says[1].lower(), value=says[2])


def settings_unread(text: str) -> tuple[Unread, ...]:
    """The settings unknown to claims with a possible effect on the subnet manager."""
    unread = []
    for setting in settings(text):
        if not isinstance(setting, UfmSetting):
            unread.append(Unread(SETTINGS, *setting))
        elif setting.place not in (SHARP_ENABLED, DEFAULT_MEMBERSHIP) and not setting.is_watching:
            unread.append(
                Unread(SETTINGS, setting.line, f"[{setting.section}]{BETWEEN}{setting.key} = {setting.value}")
            )
    return tuple(unread)
