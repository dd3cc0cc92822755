"""Which of the nodes that answered is which of the planned ones: by GUID, by name, and then by the cables.

Built up in that order; ``relocation`` adds what only the cables tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.observe.expected import ExpectedSubnet
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet

# The description of a managed switch's chip: "MF0;NAME:MODEL/U1", and with its board in a director:
# "MF0;NAME:MODEL/L15/U2".
_MANAGED = re.compile(r"MF\d+;([^:;]+):[^/]*(?:/U1|(/[LS]\d+/U\d+))$")


@dataclass(frozen=True, slots=True)
class Identities:
    """Where each planned site is: ``base[site] + port`` is its end in the scan; sites not seen have ends of their own.

    ``renamed`` are sites found by name that answer with another GUID than the one scanned for them.
    """

    base: tuple[int, ...]
    seen: tuple[bool, ...]
    owner: Mapping[int, int]
    renamed: tuple[int, ...] = ()

    def site_at(self, end: int) -> int | None:
        """The site that an end belongs to, None for a stranger's."""
        site_index = self.owner.get(end)
        return self.owner.get(end & ~PORT_MASK) if site_index is None else site_index


def settled(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, base: Mapping[int, int], renamed: tuple[int, ...] = ()
) -> Identities:
    """Identities from the bases of the sites that were seen."""
    unseen = len(subnet.nodes) << PORT_BITS
    sites = expected.sites
    bases = tuple(base.get(at, unseen + (at << PORT_BITS)) for at in range(len(sites)))
    owner = {end if sites[at].switch else end + 1: at for at, end in enumerate(bases)}
    return Identities(base=bases, seen=tuple(at in base for at in range(len(sites))), owner=owner, renamed=renamed)


def identify(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, names: Mapping[int, str], *, by_name: bool, domain: str
) -> Identities:
    """Identities by GUID, then by name; with ``by_name`` the other way round.

    ``names`` are a node-name map's, by node GUID, and go before what nodes say of themselves; ``domain`` may follow a
    host's name.
    """
    base: dict[int, int] = {}
    taken: set[int] = set()
    renamed: list[int] = []
    for step in ("name", "guid") if by_name else ("guid", "name"):
        ends = _by_guid(expected, subnet) if step == "guid" else _by_name(expected, subnet, names, domain, taken)
        for at, end in ends.items():
            if at not in base and end not in taken:
                base[at] = end
                taken.add(end)
                if step == "name" and not by_name and expected.sites[at].scanned:
                    renamed.append(at)
    return settled(expected, subnet, base, tuple(renamed))


def planned_peers(expected: ExpectedSubnet, identities: Identities) -> dict[int, int]:
    """The planned links in both directions, as ends of the scan."""
    base = identities.base
    peers: dict[int, int] = {}
    for link in expected.links:
        a, b = base[link.a] + link.a_port, base[link.b] + link.b_port
        peers[a] = b
        peers[b] = a
    return peers


def _by_guid(expected: ExpectedSubnet, subnet: DiscoveredSubnet) -> dict[int, int]:
    """Bases by site: switches by node GUID, adapters by port GUID."""
    bases: dict[int, int] = {}
    for at, site in enumerate(expected.sites):
        if site.switch:
            node = subnet.by_guid.get(site.guid)
            if node is not None and subnet.nodes[node].kind == "switch":
                bases[at] = node << PORT_BITS
        elif (end := subnet.by_port_guid.get(site.guid)) is not None:
            bases[at] = end - 1
    return bases


def _by_name(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, names: Mapping[int, str], domain: str, taken: set[int]
) -> dict[int, int]:
    """Bases by site for the nodes whose base is not in ``taken``; a name that several answer to tells nothing."""
    called = {name: at for at, site in enumerate(expected.sites) for name in site.names}
    bases: dict[int, int] = {}
    times: Counter[int] = Counter()
    for guid, node in subnet.by_guid.items():
        switch = subnet.nodes[node].kind == "switch"
        base = node << PORT_BITS if switch else _adapter_end(subnet, node) - 1
        if base in taken:
            continue
        name = names.get(guid) or subnet.nodes[node].description
        if switch:
            managed = _MANAGED.match(name)
            name = managed[1] + (managed[2] or "") if managed else name
        else:
            host, _, port = name.partition(" ")
            name = f"{host.removesuffix('.' + domain)} {port}"
        at = called.get(name.strip())
        if at is not None and expected.sites[at].switch == switch:
            bases[at] = base
            times[at] += 1
    return {at: base for at, base in bases.items() if times[at] == 1}


def _adapter_end(subnet: DiscoveredSubnet, node: int) -> int:
    """The end of an adapter that is known by its node only: its first cabled port, or port 1."""
    first = (node << PORT_BITS) + 1
    if first in subnet.peer:
        return first
    return next(iter(subnet.ends_of(node)), first)
