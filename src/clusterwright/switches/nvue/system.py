"""The record of NVUE: Cumulus Linux on Spectrum switches."""

from __future__ import annotations

import re
from functools import partial

from clusterwright.device_files.differing import by_keys
from clusterwright.device_files.writer import Writer
from clusterwright.switches import frr
from clusterwright.switches.first_contact import linux_script
from clusterwright.switches.nvue import effects
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.nvue.reader.system import READER
from clusterwright.switches.nvue.writer import configuration
from clusterwright.switches.switch_system import Probes, ReleaseProbe, SwitchSystem


def running_release(text: str) -> str:
    """The line ``DISTRIB_RELEASE=5.10.0`` (CumulusNetworks/docs, Monitor System Hardware: /etc/lsb-release)."""
    match = re.search(r"^DISTRIB_RELEASE=(\S+)$", text, re.MULTILINE)
    if match is None:
        raise ValueError("no DISTRIB_RELEASE")
    return match[1]


NVUE = SwitchSystem(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.render),
    drift={READER.file: compare_nvue},
    differing={READER.file: by_keys(compare_nvue)},
    effects=effects.effect,
    probes=Probes(
        neighbours=("lldpcli -f json show neighbors",),
        counters=("nv show interface counters", "nv show qos roce counters"),
        sessions=frr.SESSIONS,
        configuration={READER.file: ("nv", "config", "show", "-o", "yaml")},
        release=ReleaseProbe(("cat", "/etc/lsb-release"), running_release),
    ),
    steps="nvue.yml",
    first_contact=partial(linux_script, flag="CUMULUS-AUTOPROVISIONING"),
)
