"""Addresses and prefixes in rendered text, as numbers."""

from __future__ import annotations

import socket
from functools import lru_cache


@lru_cache(maxsize=1 << 10)
def server_of_text(text: str) -> tuple[int, int]:
    """Version and number of a server's address. Cached: all switches name the same servers. Raises ValueError."""
    return read_address(text)[:2]


def read_address(text: str) -> tuple[int, int, str]:
    """Version, number and prefix length ("" without one) of an address or prefix. Raises ValueError."""
    version = 6 if ":" in text else 4
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    first, _, length = text.partition("/")
    try:
        number = int.from_bytes(socket.inet_pton(family, first), "big")
    except OSError as error:
        raise ValueError(f'"{text}" is no IPv{version} address') from error
    return version, number, length
