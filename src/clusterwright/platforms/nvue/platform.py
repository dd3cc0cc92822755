"""NVUE as a platform: Cumulus Linux on Spectrum switches."""

from __future__ import annotations

from clusterwright.platforms import frr
from clusterwright.platforms.effect import Effect
from clusterwright.platforms.nvue.drift import compare_nvue, is_beside_forwarding
from clusterwright.platforms.nvue.reader.system import READER
from clusterwright.platforms.nvue.writer import configuration
from clusterwright.platforms.platform import Platform, Probes, Writer


def effect(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """`nv config apply` restarts services by themselves; for all else a switch that changes counts as away."""
    if path != READER.file or was is None or will is None:
        return Effect.RESTART
    return Effect.LIVE if is_beside_forwarding(was.decode(), will.decode()) else Effect.RESTART


PLATFORM = Platform(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.render),
    drift={READER.file: compare_nvue},
    effects=effect,
    probes=Probes(
        neighbours=("lldpcli -f json show neighbors",),
        counters=("nv show interface counters", "nv show qos roce counters"),
        sessions=frr.SESSIONS,
    ),
)
