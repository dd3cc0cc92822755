"""All switch systems, one record each."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.device_files.writer import Writer
from clusterwright.switches.eos.system import EOS
from clusterwright.switches.fboss.system import FBOSS
from clusterwright.switches.managed.systems import MLNX_OS, NVOS
from clusterwright.switches.nvue.system import NVUE
from clusterwright.switches.sonic.system import SONIC
from clusterwright.switches.switch_system import SwitchSystem, installed_systems

_OURS = (EOS, FBOSS, NVUE, SONIC, MLNX_OS, NVOS)
SYSTEMS: Mapping[str, SwitchSystem] = {system.system: system for system in (*_OURS, *installed_systems())}
"""Every switch system, by its name in the hardware catalogue."""

WRITERS: tuple[Writer, ...] = tuple(dict.fromkeys(system.writer for system in SYSTEMS.values()))
"""The writers of switches' files; MLNX-OS and NVOS share one."""
