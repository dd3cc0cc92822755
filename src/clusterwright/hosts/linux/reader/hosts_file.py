"""Reading /etc/hosts as hosts(5) has it: an address and its names on a line."""

from __future__ import annotations

from collections.abc import Mapping

HOSTS = "etc/hosts"


def read_hosts(text: str) -> Mapping[str, frozenset[str]]:
    """The addresses of each name."""
    addresses: dict[str, set[str]] = {}
    for line in text.split("\n"):
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            addresses.setdefault(name, set()).add(address)
    return {name: frozenset(values) for name, values in addresses.items()}
