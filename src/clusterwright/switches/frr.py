"""FRR, the routing program of several systems: its answers about BGP sessions."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from clusterwright.switches.switch_system import SessionsProbe


def session_states(answer: Any) -> Iterator[tuple[str, str]]:
    """``{vrf: {"ipv6Unicast": {"peers": {address: {"state": ...}}}}}``; without an address, by interface."""
    for vrf in answer.values():
        for family in vrf.values():
            if not isinstance(family, dict):
                continue
            for name, peer in family.get("peers", {}).items():
                yield _address(name), str(peer["state"])


def _address(name: str) -> str:
    """A peer's address in Python's form; the name of the interface for an unnumbered peer."""
    try:
        return str(ip_address(name))
    except ValueError:
        return name


SESSIONS = SessionsProbe(("vtysh", "-c", "show bgp vrf all summary json"), session_states)
