"""What changes of NVUE's file do.

`nv config apply` writes the files of the services whose objects differ and reloads or restarts these alone; `ifreload`
and FRR's reload change what differs. As the user guide has it (CumulusNetworks/docs, 5.10), switchd restarts for the
hash seed, RoCE mode changes the buffers of every port, and a breakout takes its cage down.
"""

from __future__ import annotations

from clusterwright.platforms.effect import Effect
from clusterwright.platforms.linux import effects as linux
from clusterwright.platforms.nvue.drift import compare_nvue
from clusterwright.platforms.nvue.reader.configuration import PATH

# What no packet passes by.
_BESIDE = frozenset(
    {
        *(("service", name) for name in ("dns", "ntp", "snmp-server", "syslog", "lldp")),
        *(("system", name) for name in ("aaa", "api", "hostname", "message", "ssh-server", "timezone")),
    }
)


def effect(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """Services of the switch itself are live; whatever else changes is taken for a restart."""
    if path != PATH:
        return linux.on_switch(path, was, will)
    if was is None or will is None:
        return Effect.RESTART
    found = compare_nvue(was.decode("utf-8", "replace"), will.decode("utf-8", "replace"))
    return Effect.LIVE if all(place[:2] in _BESIDE for *_, place, _ in found) else Effect.RESTART
