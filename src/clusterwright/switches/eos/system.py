"""The record of Arista EOS."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from clusterwright.device_files.differing import by_lines
from clusterwright.device_files.writer import Writer
from clusterwright.facts.reader import Unsupported
from clusterwright.switches.eos import effects
from clusterwright.switches.eos.drift import compare_eos
from clusterwright.switches.eos.reader.system import READER
from clusterwright.switches.eos.writer import configuration
from clusterwright.switches.eos.writer.first_contact import contact_file
from clusterwright.switches.switch_system import Probes, ReleaseProbe, SessionsProbe, SwitchSystem


def session_states(answer: Any) -> Iterator[tuple[str, str]]:
    """``{"vrfs": {vrf: {"peers": {address: {"peerState": ...}}}}}``, as eAPI has it."""
    for summary in answer.get("vrfs", {}).values():
        for address, peer in summary.get("peers", {}).items():
            yield str(ip_address(address)), str(peer["peerState"])


def running_release(answer: Any) -> str:
    """``{"version": "4.33.1F", ...}``, as eAPI has it."""
    return str(answer["version"])


EOS = SwitchSystem(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.render),
    drift={READER.file: compare_eos},
    differing={READER.file: by_lines(compare_eos)},
    effects=effects.effect,
    probes=Probes(
        neighbours=("show lldp neighbors | json",),
        counters=("show interfaces counters errors", "show priority-flow-control counters"),
        sessions=SessionsProbe(("show bgp summary vrf all",), session_states, is_eapi=True),
        release=ReleaseProbe(("show", "version"), running_release, is_eapi=True),
    ),
    steps=Unsupported("its changes are sessions of its own, over eAPI: the role eos_session"),
    first_contact=contact_file,
)
