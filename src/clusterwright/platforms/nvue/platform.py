"""NVUE as a platform: Cumulus Linux on Spectrum switches."""

from __future__ import annotations

from clusterwright.platforms import frr
from clusterwright.platforms.differing import by_keys
from clusterwright.platforms.nvue import effects
from clusterwright.platforms.nvue.drift import compare_nvue
from clusterwright.platforms.nvue.reader.system import READER
from clusterwright.platforms.nvue.writer import configuration
from clusterwright.platforms.platform import Platform, Probes, Writer

PLATFORM = Platform(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.render),
    drift={READER.file: compare_nvue},
    differing={READER.file: by_keys(compare_nvue)},
    effects=effects.effect,
    probes=Probes(
        neighbours=("lldpcli -f json show neighbors",),
        counters=("nv show interface counters", "nv show qos roce counters"),
        sessions=frr.SESSIONS,
    ),
    steps="nvue.yml",
)
