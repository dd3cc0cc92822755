"""The record of FBOSS."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from clusterwright.device_files.differing import by_keys
from clusterwright.device_files.writer import Writer
from clusterwright.switches.fboss import effects
from clusterwright.switches.fboss.drift import compare_agent, compare_bgp
from clusterwright.switches.fboss.reader.configuration import AGENT, BGP
from clusterwright.switches.fboss.reader.system import READER
from clusterwright.switches.fboss.writer import configuration
from clusterwright.switches.fboss.writer.services import shared_files
from clusterwright.switches.switch_system import Probes, SessionsProbe, SwitchSystem

# bgp_thrift.thrift, TBgpPeerState, as simple JSON writes it.
_STATES = ("Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established", "Closing", "Idle (Admin)")


def session_states(answer: Any) -> Iterator[tuple[str, str]]:
    """``{host: {"sessions": [{"peer_addr": ..., "peer": {"peer_state": 5}}]}}``; a listen range is no neighbour."""
    for host in answer.values():
        for session in host["sessions"]:
            is_listen_range = "/" in session["peer_addr"]
            if not is_listen_range:
                yield str(ip_address(session["peer_addr"])), _STATES[session["peer"]["peer_state"]]


FBOSS = SwitchSystem(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.for_device, on_switches=shared_files),
    drift={AGENT: compare_agent, BGP: compare_bgp},
    differing={AGENT: by_keys(compare_agent), BGP: by_keys(compare_bgp)},
    effects=effects.effect,
    probes=Probes(
        neighbours=("fboss2 show lldp",),
        counters=("fboss2 show interface errors", "fboss2 show interface counters"),
        sessions=SessionsProbe(("fboss2", "--fmt", "json", "show", "bgp", "summary"), session_states),
    ),
    steps="fboss.yml",
)
