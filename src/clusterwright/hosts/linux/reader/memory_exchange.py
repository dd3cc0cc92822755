"""IMEX on a node: the members of its NVLink domain, and how its instances meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address

MEMBERS, SETTINGS = "etc/nvidia-imex/nodes_config.cfg", "etc/nvidia-imex/config.cfg"
_COMMENT = "#"


def read_members(text: str) -> Iterator[tuple[int, IPv4Address | IPv6Address]]:
    """Line and address of each member. Raises ValueError for any other line."""
    for number, line in enumerate(text.split("\n"), 1):
        member = line.strip()
        if member and not member.startswith(_COMMENT):
            yield number, ip_address(member)


def read_settings(text: str) -> Mapping[str, tuple[int, str]]:
    """Line and value of each setting, the last one of a name. Raises ValueError for any other line."""
    settings = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith(_COMMENT):
            continue
        name, sign, value = line.partition("=")
        if not sign:
            raise ValueError(f'line {number}: "{line}" is no setting')
        settings[name.strip()] = (number, value.strip())
    return settings
