"""Source address of an EOS switch's requests to DHCP servers for its hosts: the one in the relay's line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.facts.router import Prefix, packed, prefix_of
from clusterwright.switches.eos.reader.interfaces import Body

_OWN = re.compile(r"^   (?:ip|ipv6) address ([0-9a-f.:]+/\d+)$", re.M)
_SOURCE_INTERFACE = re.compile(r"^   ip helper-address \S+(?: vrf \S+)? source-interface (\S+)", re.M)
_SOURCE_ADDRESS = re.compile(r"^   ipv6 dhcp relay destination \S+(?: vrf \S+)? source-address (\S+)", re.M)


def relay_sources(interfaces: Iterable[Body]) -> Iterator[tuple[Prefix, bytes]]:
    """Subnets of interfaces with a relay's source address, with that address.

    Raises ValueError for anything else in its place.
    """
    bodies = {header.removeprefix("interface "): body for header, body in interfaces}
    for body in bodies.values():
        if "helper-address" not in body and "dhcp relay" not in body:
            continue
        by_interface, by_address = _SOURCE_INTERFACE.search(body), _SOURCE_ADDRESS.search(body)
        for text in _OWN.findall(body):
            if ":" in text and by_address is not None:
                yield prefix_of(text), packed(by_address[1])
            elif ":" not in text and by_interface is not None:
                for source in _OWN.findall(bodies.get(by_interface[1], "")):
                    if ":" not in source:
                        yield prefix_of(text), packed(source.partition("/")[0])
