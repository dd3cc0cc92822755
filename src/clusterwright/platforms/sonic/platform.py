"""SONiC as a platform."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from clusterwright.platforms.json_drift import compare_json
from clusterwright.platforms.platform import Platform, Probes, SessionsProbe, Writer
from clusterwright.platforms.sonic.reader.system import READER
from clusterwright.platforms.sonic.writer import configuration


def session_states(answer: Any) -> Iterator[tuple[str, str]]:
    """FRR's ``{vrf: {"ipv6Unicast": {"peers": {address: {"state": ...}}}}}``; without an address, by interface."""
    for vrf in answer.values():
        for family in vrf.values():
            if isinstance(family, dict):
                for name, peer in family.get("peers", {}).items():
                    yield _address(name), str(peer["state"])


def _address(name: str) -> str:
    try:
        return str(ip_address(name))
    except ValueError:
        return name


PLATFORM = Platform(
    reader=READER,
    writer=Writer(configuration.KIND, configuration.applies, configuration.render),
    drift={READER.file: compare_json},
    probes=Probes(
        # sonic-utilities' own `show lldp neighbors` is lldpctl's text; lldpd's JSON is what `observe` reads.
        neighbours=("docker exec lldp lldpcli -f json show neighbors",),
        counters=("show interfaces counters errors", "show pfc counters"),
        sessions=SessionsProbe(("vtysh", "-c", "show bgp vrf all summary json"), session_states),
    ),
)
