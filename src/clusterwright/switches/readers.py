"""The readers of all systems, for proofs. None of them imports a writer."""

from __future__ import annotations

from clusterwright.facts.reader import SystemReader, Unsupported
from clusterwright.switches.eos.reader.system import READER as EOS
from clusterwright.switches.fboss.reader.system import READER as FBOSS
from clusterwright.switches.managed.reader.systems import MLNX_OS, NVOS
from clusterwright.switches.nvue.reader.system import READER as NVUE
from clusterwright.switches.sonic.reader.system import READER as SONIC
from clusterwright.switches.switch_system import installed_systems

_OURS = (EOS, FBOSS, NVUE, SONIC, MLNX_OS, NVOS)
READERS: tuple[SystemReader, ...] = (*_OURS, *(system.reader for system in installed_systems()))
ROUTERS: tuple[SystemReader, ...] = tuple(reader for reader in READERS if not isinstance(reader.router, Unsupported))
