"""Match scanned nodes with planned ones, by GUID and by name; ``relocation`` adds matches by cables."""

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
    """Scanned ends of the planned sites: ``base[site] + port`` is an end in the scan; unseen sites have distinct ends.

    ``renamed`` are sites identified by name with another GUID than the scanned label.
    """

    base: tuple[int, ...]
    seen: tuple[bool, ...]
    owner: Mapping[int, int]
    renamed: tuple[int, ...] = ()

    def site_at(self, end: int) -> int | None:
        """Index of the site of an end; None for an unplanned node."""
        site_index = self.owner.get(end)
        if site_index is None:
            return self.owner.get(end & ~PORT_MASK)
        return site_index


def settled(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, base: Mapping[int, int], renamed: tuple[int, ...] = ()
) -> Identities:
    """Identities from the bases of the seen sites."""
    unseen = len(subnet.nodes) << PORT_BITS
    bases = []
    seen = []
    owner = {}
    for index, site in enumerate(expected.sites):
        end = base.get(index, unseen + (index << PORT_BITS))
        bases.append(end)
        seen.append(index in base)
        if site.switch:
            owner[end] = index
        else:
            owner[end + 1] = index
    return Identities(base=tuple(bases), seen=tuple(seen), owner=owner, renamed=renamed)


def identify(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, names: Mapping[int, str], *, by_name: bool, domain: str
) -> Identities:
    """Identities by GUID, then by name; with ``by_name`` in the reverse order.

    ``names`` are a node-name map's, by node GUID, and take precedence over node descriptions; ``domain`` may follow a
    host's name.
    """
    base: dict[int, int] = {}
    taken: set[int] = set()
    renamed: list[int] = []
    steps = ("name", "guid") if by_name else ("guid", "name")
    for step in steps:
        ends = _by_guid(expected, subnet) if step == "guid" else _by_name(expected, subnet, names, domain, taken)
        for index, end in ends.items():
            if index in base or end in taken:
                continue
            base[index] = end
            taken.add(end)
            if step == "name" and not by_name and expected.sites[index].scanned:
                renamed.append(index)
    return settled(expected, subnet, base, tuple(renamed))


def planned_peers(expected: ExpectedSubnet, identities: Identities) -> dict[int, int]:
    """Planned links in both directions, as ends of the scan."""
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
    for index, site in enumerate(expected.sites):
        if site.switch:
            node = subnet.by_guid.get(site.guid)
            if node is not None and subnet.nodes[node].kind == "switch":
                bases[index] = node << PORT_BITS
        elif (end := subnet.by_port_guid.get(site.guid)) is not None:
            bases[index] = end - 1
    return bases


def _by_name(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, names: Mapping[int, str], domain: str, taken: set[int]
) -> dict[int, int]:
    """Bases by site for nodes outside ``taken``; a name of several nodes identifies none of them."""
    index_by_name: dict[str, int] = {}
    for index, site in enumerate(expected.sites):
        index_by_name.update(dict.fromkeys(site.names, index))
    bases: dict[int, int] = {}
    answers: Counter[int] = Counter()
    for guid, node in subnet.by_guid.items():
        is_switch = subnet.nodes[node].kind == "switch"
        base = node << PORT_BITS if is_switch else _adapter_end(subnet, node) - 1
        if base in taken:
            continue
        description = names.get(guid) or subnet.nodes[node].description
        name = _chip_name(description) if is_switch else _adapter_name(description, domain)
        site_index = index_by_name.get(name)
        if site_index is not None and expected.sites[site_index].switch == is_switch:
            bases[site_index] = base
            answers[site_index] += 1
    return {index: base for index, base in bases.items() if answers[index] == 1}


def _chip_name(description: str) -> str:
    """The name of a switch chip in a node description, with the board of a director's chip."""
    managed = _MANAGED.match(description)
    if managed is None:
        return description.strip()
    name: str = managed[1] + (managed[2] or "")
    return name.strip()


def _adapter_name(description: str, domain: str) -> str:
    """The host name without ``domain`` and the adapter's name in a node description."""
    host, _, port = description.partition(" ")
    return f"{host.removesuffix('.' + domain)} {port}".strip()


def _adapter_end(subnet: DiscoveredSubnet, node: int) -> int:
    """The end of an adapter identified by its node alone: its first cabled port, or port 1."""
    first = (node << PORT_BITS) + 1
    if first in subnet.peer:
        return first
    cabled_ends = subnet.ends_of(node)
    return cabled_ends[0] if cabled_ends else first
