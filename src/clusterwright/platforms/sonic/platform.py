"""SONiC as a platform."""

from __future__ import annotations

from clusterwright.platforms import frr
from clusterwright.platforms.differing import by_keys
from clusterwright.platforms.linux.writer.switch_accounts import account_files
from clusterwright.platforms.platform import Platform, Probes, Writer
from clusterwright.platforms.sonic import effects
from clusterwright.platforms.sonic.drift import compare_sonic
from clusterwright.platforms.sonic.reader.system import READER
from clusterwright.platforms.sonic.writer import configuration

PLATFORM = Platform(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.own, on_switches=account_files),
    drift={READER.file: compare_sonic},
    differing={READER.file: by_keys(compare_sonic)},
    effects=effects.effect,
    probes=Probes(
        # sonic-utilities' own `show lldp neighbors` is lldpctl's text; lldpd's JSON is what `observe` reads.
        neighbours=("docker exec lldp lldpcli -f json show neighbors",),
        counters=("show interfaces counters errors", "show pfc counters"),
        sessions=frr.SESSIONS,
    ),
    steps="sonic.yml",
)
