"""EOS as a platform."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from clusterwright.platforms.differing import by_lines
from clusterwright.platforms.eos import effects
from clusterwright.platforms.eos.drift import compare_eos
from clusterwright.platforms.eos.reader.system import READER
from clusterwright.platforms.eos.writer import configuration
from clusterwright.platforms.platform import Platform, Probes, SessionsProbe, Writer
from clusterwright.platforms.reader import Unsupported


def session_states(answer: Any) -> Iterator[tuple[str, str]]:
    """``{"vrfs": {vrf: {"peers": {address: {"peerState": ...}}}}}``, as eAPI has it."""
    for summary in answer.get("vrfs", {}).values():
        for address, peer in summary.get("peers", {}).items():
            yield str(ip_address(address)), str(peer["peerState"])


PLATFORM = Platform(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.render),
    drift={READER.file: compare_eos},
    differing={READER.file: by_lines(compare_eos)},
    effects=effects.effect,
    probes=Probes(
        neighbours=("show lldp neighbors | json",),
        counters=("show interfaces counters errors", "show priority-flow-control counters"),
        sessions=SessionsProbe(("show bgp summary vrf all",), session_states, is_eapi=True),
    ),
    steps=Unsupported("its changes are sessions of its own, over eAPI: the role eos_session"),
)
