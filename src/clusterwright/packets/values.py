"""Values in nftables expressions: addresses, ports, protocols, ICMP types, connection states."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from functools import lru_cache

from clusterwright.packets.boxes import (
    CT,
    CT_STATES,
    DPORT,
    DST,
    FAMILY,
    FLAGS,
    HOPS,
    ICMP,
    IIF,
    OIF,
    PROTO,
    SPORT,
    SRC,
)
from clusterwright.packets.ranges import Ranges, ranges, values

PROTOCOLS = {"icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "ipv6-icmp": 58, "icmpv6": 58, "sctp": 132, "dccp": 33}
PROTOCOLS |= {"esp": 50, "ah": 51, "gre": 47, "udplite": 136, "vrrp": 112}
TCP_FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32, "ecn": 64, "cwr": 128}
# Numbers of RFC 792 and RFC 4443, 4861, 2710, 3810 by their names in nft.
ICMP_TYPES = {
    "echo-reply": 0,
    "destination-unreachable": 3,
    "source-quench": 4,
    "redirect": 5,
    "echo-request": 8,
    "router-advertisement": 9,
    "router-solicitation": 10,
    "time-exceeded": 11,
    "parameter-problem": 12,
    "timestamp-request": 13,
    "timestamp-reply": 14,
    "info-request": 15,
    "info-reply": 16,
    "address-mask-request": 17,
    "address-mask-reply": 18,
}
ICMP6_TYPES = {
    "destination-unreachable": 1,
    "packet-too-big": 2,
    "time-exceeded": 3,
    "parameter-problem": 4,
    "echo-request": 128,
    "echo-reply": 129,
    "mld-listener-query": 130,
    "mld-listener-report": 131,
    "mld-listener-done": 132,
    "mld-listener-reduction": 132,
    "nd-router-solicit": 133,
    "nd-router-advert": 134,
    "nd-neighbor-solicit": 135,
    "nd-neighbor-advert": 136,
    "nd-redirect": 137,
    "router-renumbering": 138,
    "ind-neighbor-solicit": 141,
    "ind-neighbor-advert": 142,
    "mld2-listener-report": 143,
}
_FAMILIES = {"ipv4": 0, "ipv6": 1}
_NAMES: Mapping[str, Mapping[str, int]] = {
    "proto": PROTOCOLS,
    "icmp": ICMP_TYPES,
    "icmpv6": ICMP6_TYPES,
    "ct": {name: number for number, name in enumerate(CT_STATES)},
    "family": _FAMILIES,
    "flags": TCP_FLAGS,
}
_LONGEST_NAME = 15  # linux/if.h: IFNAMSIZ, with the zero at its end
_TOP = {"port": 65535, "proto": 255, "icmp": 255, "icmpv6": 255, "hops": 255, "flags": 255}

# Fields of a packet by kind of value.
FIELD_OF: Mapping[str, int] = {
    "iif": IIF,
    "oif": OIF,
    "index in": IIF,
    "index out": OIF,
    "ct": CT,
    "proto": PROTO,
    "src4": SRC,
    "src6": SRC,
    "dst4": DST,
    "dst6": DST,
    "dport": DPORT,
    "sport": SPORT,
    "icmp": ICMP,
    "icmpv6": ICMP,
    "flags": FLAGS,
    "hops": HOPS,
    "family": FAMILY,
}


def value_of(kind: str, text: str, interfaces: Callable[..., Ranges]) -> Ranges:
    """The values of one element of a set. Raises ValueError with the mistake."""
    if kind in ("index in", "index out") and text != "lo":
        raise ValueError(
            f'an interface is asked for by the number that "{text}" has when the file is loaded, and none is loaded '
            "where it has none yet: iifname and oifname ask for names"
        )
    if FIELD_OF[kind] in (IIF, OIF):
        if len(text.encode()) > _LONGEST_NAME:
            raise ValueError(f'"{text}" is longer than an interface\'s name can be')
        return interfaces(text)
    if kind in ("src4", "dst4"):
        return addresses(text, 4)
    if kind in ("src6", "dst6"):
        return addresses(text, 6)
    names = _NAMES.get(kind, {})
    if text in names:
        return values(names[text])
    top = _TOP.get("port" if kind in ("sport", "dport") else kind)
    # nft reads a number with a leading zero as octal.
    match = re.fullmatch(r"(0|[1-9]\d*)(?:-(0|[1-9]\d*))?", text, re.A)
    if match is None or top is None:
        raise ValueError(f'"{text}" is no value that is known here')
    low, high = int(match[1]), int(match[2] or match[1])
    if not low <= high <= top:
        raise ValueError(f'"{text}" is no range up to {top}')
    return ranges([(low, high)])


_LENGTH = re.compile(r"0|[1-9]\d?\d?", re.A)  # "/056" is octal to nft


def addresses(text: str, version: int) -> Ranges:
    """The addresses of a prefix, of a range or of one address. Raises ValueError."""
    size = 32 if version == 4 else 128
    first, dash, last = text.partition("-")
    if dash:
        low, high = _address(first, version), _address(last, version)
        if low > high:
            raise ValueError(f'"{text}" ends before it begins')
        return ranges([(low, high)])
    address, slash, length = text.partition("/")
    if not slash:
        only = _address(address, version)
        return Ranges(((only, only),))
    bits = int(length) if _LENGTH.fullmatch(length) else size + 1
    if bits > size:
        raise ValueError(f'"{text}" has no prefix length of IPv{version}')
    low = _address(address, version) >> (size - bits) << (size - bits)
    return Ranges(((low, low + (1 << (size - bits)) - 1),))


def _address(text: str, version: int) -> int:
    try:
        packed = socket.inet_pton(socket.AF_INET6 if version == 6 else socket.AF_INET, text)
    except OSError as error:
        raise ValueError(f'"{text}" is no IPv{version} address') from error
    return int.from_bytes(packed, "big")


@lru_cache(maxsize=1 << 10)
def server_address(text: str) -> tuple[int, int]:
    """Version and number of a server's address. Cached: all switches name the same servers. Raises ValueError."""
    return read_address(text)[:2]


def read_address(text: str) -> tuple[int, int, str]:
    """Version, number and prefix length ("" without one) of an address or prefix. Raises ValueError."""
    version = 6 if ":" in text else 4
    first, _, length = text.partition("/")
    try:
        return version, _address(first, version), length
    except ValueError as error:
        raise ValueError(f'"{text}" is no IPv{version} address') from error


def everywhere(version: int) -> Ranges:
    """All addresses of an IP version."""
    bits = 32 if version == 4 else 128
    return Ranges(((0, (1 << bits) - 1),))
