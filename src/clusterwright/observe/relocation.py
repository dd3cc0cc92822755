"""Detect whole devices in each other's places by their cables, instead of reporting hundreds of moves.

Every cable of a device votes: the port at its far end was planned for some device, at the same port as here. The device
stands in the place with most of the votes, provided that the planned device is absent, or stands elsewhere itself.
Identified devices vote in the next round, so that a fabric of nameless switches is identified tier by tier from its
hosts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from clusterwright.observe.expected import ExpectedNode, ExpectedSubnet
from clusterwright.observe.identity import Identities, planned_peers, settled
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet

_Candidate = TypeVar("_Candidate", int, str)
_FEWEST_LINKS = 3  # two exchanged cables are cheaper to move than any device
# Node description of an adapter without a name from its host: empty, or its model.
_UNNAMED = re.compile(r"\s*$|localhost\b|\(none\)|MT\d+\b|.*(Mellanox|ConnectX|HCA)")
_MOST_ROUNDS = 8  # identities spread by one tier a round, and no fabric has more tiers than this


@dataclass(frozen=True, slots=True)
class Relocation:
    """A unit in the place of another: ``seen`` is its planned name, None for an unplanned device, the node ``node``."""

    seen: str | None
    node: int
    place: str


@dataclass(frozen=True, slots=True)
class _Proposal:
    """``ends`` are the bases of the unit's sites (None if not seen), ``targets`` their sites according to the votes."""

    ends: tuple[int | None, ...]
    targets: tuple[int, ...]
    votes: int


def relocate(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities
) -> tuple[Identities, tuple[Relocation, ...]]:
    """Identities with every relocated unit in its actual place, and the relocations in the order of places."""
    units: dict[str, list[int]] = defaultdict(list)
    for index, site in enumerate(expected.sites):
        units[site.unit].append(index)
    relocations: list[Relocation] = []
    settled_units: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        proposals = _agreed(_proposals(expected, subnet, identities, units, settled_units), expected, identities)
        if not proposals:
            break
        base = _relocated_bases(identities, units, proposals)
        for name, proposal in proposals.items():
            place = expected.sites[proposal.targets[0]]
            if name in units:
                relocation = Relocation(seen=name, node=_first_node(proposal), place=place.unit)
            else:
                relocation = Relocation(seen=None, node=_first_node(proposal), place=place.names[0])
            relocations.append(relocation)
            if name in units or place.switch:
                settled_units |= {name, place.unit}
        identities = settled(expected, subnet, base, identities.renamed)
    return identities, tuple(sorted(relocations, key=lambda item: item.place))


def _relocated_bases(
    identities: Identities, units: Mapping[str, Sequence[int]], proposals: Mapping[str, _Proposal]
) -> dict[int, int]:
    """Bases of the seen sites, with the proposed ends in their places instead of their planned ones."""
    base = {index: end for index, end in enumerate(identities.base) if identities.seen[index]}
    for name in proposals:
        for index in units.get(name, ()):
            base.pop(index, None)
    for proposal in proposals.values():
        ends = zip(proposal.targets, proposal.ends, strict=True)
        base.update({index: end for index, end in ends if end is not None})
    return base


def _first_node(proposal: _Proposal) -> int:
    for end in proposal.ends:
        if end is not None:
            return end >> PORT_BITS
    return -1


def _proposals(
    expected: ExpectedSubnet,
    subnet: DiscoveredSubnet,
    identities: Identities,
    units: Mapping[str, Sequence[int]],
    excluded: set[str],
) -> dict[str, _Proposal]:
    """Possible places of units, by unit name; unplanned devices are named by "?" and their node."""
    planned = planned_peers(expected, identities)
    wrong_links: Counter[str] = Counter()
    unplanned_nodes: dict[int, None] = {}
    for end, peer in subnet.peer.items():
        if planned.get(end) == peer:
            continue
        index = identities.site_at(end)
        if index is None:
            unplanned_nodes[end >> PORT_BITS] = None
        else:
            wrong_links[expected.sites[index].unit] += 1
    proposals: dict[str, _Proposal] = {}
    for name, count in wrong_links.items():
        if count >= _FEWEST_LINKS and name not in excluded:
            proposal = _planned_unit(expected, subnet, identities, units=units, planned=planned, name=name)
            if proposal is not None:
                proposals[name] = proposal
    for node in unplanned_nodes:
        proposal = _unplanned_node(expected, subnet, identities, planned, node)
        if proposal is not None:
            proposals[f"?{node}"] = proposal
    return proposals


def _planned_unit(
    expected: ExpectedSubnet,
    subnet: DiscoveredSubnet,
    identities: Identities,
    *,
    units: Mapping[str, Sequence[int]],
    planned: Mapping[int, int],
    name: str,
) -> _Proposal | None:
    """The place of a planned unit according to its cables; None without a clear majority."""
    sites = units[name]
    votes: Counter[str] = Counter()
    link_count = correct_links = 0
    for index in sites:
        if not identities.seen[index]:
            continue
        site = expected.sites[index]
        for end in _link_ends(site, identities.base[index], subnet):
            peer = subnet.peer.get(end, -1)
            peer_index = identities.site_at(peer)
            if peer_index is not None and expected.sites[peer_index].unit == name:
                continue  # a trace inside a director moves with it
            planned_end = planned.get(peer, -1)
            planned_index = identities.site_at(planned_end)
            if planned_index is None:
                continue
            link_count += 1
            correct_links += planned_end == end
            planned_site = expected.sites[planned_index]
            if _has_same_slot(site, end, planned_site, planned_end):
                votes[planned_site.unit] += 1
    if not votes:
        return None
    unit, count = _winner(votes)
    targets = units[unit]
    is_clear = count >= _FEWEST_LINKS and 2 * count >= link_count
    if unit == name or not is_clear or not _has_same_hardware(expected, sites, targets):
        return None
    if correct_links and not any(identities.seen[index] for index in targets):
        return None  # a device stands in one place: these are two devices with one GUID
    ends_of_sites = tuple(identities.base[index] if identities.seen[index] else None for index in sites)
    return _Proposal(ends_of_sites, tuple(targets), count)


def _has_same_hardware(expected: ExpectedSubnet, sites: Sequence[int], targets: Sequence[int]) -> bool:
    first, place = expected.sites[sites[0]], expected.sites[targets[0]]
    return len(targets) == len(sites) and first.device.model == place.device.model and first.ports == place.ports


def _link_ends(site: ExpectedNode, base: int, subnet: DiscoveredSubnet) -> list[int]:
    return subnet.ends_of(base >> PORT_BITS) if site.switch else [base + 1]


def _has_same_slot(site: ExpectedNode, end: int, planned_site: ExpectedNode, planned_end: int) -> bool:
    """Whether two ends have the same slot in their units and, on switches, the same port."""
    if planned_site.switch != site.switch or planned_site.slot != site.slot:
        return False
    return not site.switch or planned_end & PORT_MASK == end & PORT_MASK


def _unplanned_node(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities, planned: Mapping[int, int], node: int
) -> _Proposal | None:
    """The absent site with the cables of an unplanned node; None without enough of them."""
    is_switch = subnet.nodes[node].kind == "switch"
    votes: Counter[int] = Counter()
    base = node << PORT_BITS
    for end in subnet.ends_of(node):
        planned_end = planned.get(subnet.peer[end])
        if planned_end is None:
            continue
        index = identities.site_at(planned_end)
        if index is None or identities.seen[index] or expected.sites[index].switch != is_switch:
            continue
        if is_switch:
            if planned_end & PORT_MASK == end & PORT_MASK:
                votes[index] += 1
        elif _may_be(subnet.nodes[node].description, expected.sites[index]):
            votes[index] += 1
            base = end - 1
    if not votes:
        return None
    target, count = _winner(votes)
    if is_switch and count < _FEWEST_LINKS:
        return None
    return _Proposal((base,), (target,), count)


def _winner(votes: Counter[_Candidate]) -> tuple[_Candidate, int]:
    """The candidate with most votes, the smallest one in a tie, and its votes."""
    return min(votes.items(), key=lambda item: (-item[1], item[0]))


def _may_be(description: str, site: ExpectedNode) -> bool:
    """Whether an adapter can be the planned one: its description names no host, or the planned host."""
    host = description.partition(" ")[0].partition(".")[0]
    return host == site.device.name or _UNNAMED.match(description) is not None


def _agreed(proposals: dict[str, _Proposal], expected: ExpectedSubnet, identities: Identities) -> dict[str, _Proposal]:
    """The compatible proposals: one for each place, and each place absent or left by its unit."""
    best: dict[tuple[int, ...], str] = {}
    for name, proposal in sorted(proposals.items()):
        rival = best.get(proposal.targets)
        if rival is None or proposals[rival].votes < proposal.votes:
            best[proposal.targets] = name
    agreed = {name: proposals[name] for name in best.values()}
    while True:
        compatible = {}
        for name, proposal in agreed.items():
            is_left = expected.sites[proposal.targets[0]].unit in agreed
            if is_left or not any(identities.seen[index] for index in proposal.targets):
                compatible[name] = proposal
        if len(compatible) == len(agreed):
            return compatible
        agreed = compatible
