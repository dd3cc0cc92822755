"""The record of SONiC."""

from __future__ import annotations

import re
from functools import partial

from clusterwright.device_files.differing import by_keys
from clusterwright.device_files.writer import Writer
from clusterwright.hosts.linux.writer.switch_accounts import account_files
from clusterwright.switches import frr
from clusterwright.switches.first_contact import linux_script
from clusterwright.switches.sonic import effects
from clusterwright.switches.sonic.drift import compare_sonic
from clusterwright.switches.sonic.reader.system import READER
from clusterwright.switches.sonic.writer import configuration
from clusterwright.switches.switch_system import Probes, ReleaseProbe, SwitchSystem

# Without a config_db.json zero touch provisioning begins anew (sonic-ztp, defaults.py: restart-ztp-no-config). The
# factory's keeps the management port on DHCP (SONiC, configuration setup: `config-setup factory`).
FACTORY = ("test -e /etc/sonic/config_db.json || config-setup factory",)


def running_release(text: str) -> str:
    """The line ``build_version: '202511.1234-abcdef'`` (sonic-buildimage, build_sonic_version.sh)."""
    match = re.search(r"^build_version: *'?([^'\s]+)'?$", text, re.MULTILINE)
    if match is None:
        raise ValueError("no build_version")
    return match[1]


SONIC = SwitchSystem(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.for_device, on_switches=account_files),
    drift={READER.file: compare_sonic},
    differing={READER.file: by_keys(compare_sonic)},
    effects=effects.effect,
    probes=Probes(
        # `show lldp neighbors` of sonic-utilities prints lldpctl's text, and `observe` reads lldpd's JSON.
        neighbours=("docker exec lldp lldpcli -f json show neighbors",),
        counters=("show interfaces counters errors", "show pfc counters"),
        sessions=frr.SESSIONS,
        configuration={READER.file: ("sonic-cfggen", "-d", "--print-data")},
        release=ReleaseProbe(("cat", "/etc/sonic/sonic_version.yml"), running_release),
    ),
    steps="sonic.yml",
    first_contact=partial(linux_script, closing=FACTORY),
)
