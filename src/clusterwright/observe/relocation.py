"""Whole devices in each other's places, told by their cables rather than by hundreds of moves.

Every cable of a device votes: the port at its far end was planned for some device, at the same port as here. Who gets
most of the votes is whom the device stands in for, provided that one is nowhere, or stands elsewhere itself. What this
identifies votes in the next round, so that a fabric of nameless switches is identified tier by tier from its hosts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterwright.observe.expected import ExpectedNode, ExpectedSubnet
from clusterwright.observe.identity import Identities, planned_peers, settled
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet

_FEWEST_LINKS = 3  # two exchanged cables are cheaper to move than any device
# What an adapter says of itself before its host has given it a name: nothing, or its model.
_UNNAMED = re.compile(r"\s*$|localhost\b|\(none\)|MT\d+\b|.*(Mellanox|ConnectX|HCA)")
_MOST_ROUNDS = 8  # identities spread by one tier a round, and no fabric has more tiers than this


@dataclass(frozen=True, slots=True)
class Relocation:
    """A unit in the place of another: ``seen`` is its planned name, None for a stranger, whose node is ``node``."""

    seen: str | None
    node: int
    place: str


@dataclass(frozen=True, slots=True)
class _Proposal:
    """``ends`` are the bases of the unit's sites (None where not seen), ``targets`` the sites where they stand."""

    ends: tuple[int | None, ...]
    targets: tuple[int, ...]
    votes: int


def relocate(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities
) -> tuple[Identities, tuple[Relocation, ...]]:
    """Identities with every relocated unit in the place where it stands, and the relocations in the order of places."""
    units: dict[str, list[int]] = defaultdict(list)
    for at, site in enumerate(expected.sites):
        units[site.unit].append(at)
    relocations: list[Relocation] = []
    settled_units: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        proposals = _agreed(_proposals(expected, subnet, identities, units, settled_units), expected, identities)
        if not proposals:
            break
        base = {at: identities.base[at] for at in range(len(identities.base)) if identities.seen[at]}
        for name in proposals:
            for at in units.get(name, ()):
                base.pop(at, None)
        for name, proposal in proposals.items():
            base.update({at: end for at, end in zip(proposal.targets, proposal.ends, strict=True) if end is not None})
            place = expected.sites[proposal.targets[0]]
            known = name in units
            node = next((end >> PORT_BITS for end in proposal.ends if end is not None), -1)
            stands = place.unit if known else place.names[0]
            relocations.append(Relocation(name if known else None, node, stands))
            if known or place.switch:
                settled_units |= {name, place.unit}
        identities = settled(expected, subnet, base, identities.renamed)
    return identities, tuple(sorted(relocations, key=lambda item: item.place))


def _proposals(
    expected: ExpectedSubnet,
    subnet: DiscoveredSubnet,
    identities: Identities,
    units: Mapping[str, Sequence[int]],
    excluded: set[str],
) -> dict[str, _Proposal]:
    """Who might stand where, by unit name; strangers are named by "?" and their node."""
    planned = planned_peers(expected, identities)
    wrong: Counter[str] = Counter()
    strangers: dict[int, None] = {}
    for end, other in subnet.peer.items():
        if planned.get(end) != other:
            at = identities.site_at(end)
            if at is None:
                strangers[end >> PORT_BITS] = None
            else:
                wrong[expected.sites[at].unit] += 1
    proposals: dict[str, _Proposal] = {}
    for name, count in wrong.items():
        if count >= _FEWEST_LINKS and name not in excluded:
            proposal = _known(expected, subnet, identities, units=units, planned=planned, name=name)
            if proposal is not None:
                proposals[name] = proposal
    for node in strangers:
        proposal = _stranger(expected, subnet, identities, planned, node)
        if proposal is not None:
            proposals[f"?{node}"] = proposal
    return proposals


def _known(
    expected: ExpectedSubnet,
    subnet: DiscoveredSubnet,
    identities: Identities,
    *,
    units: Mapping[str, Sequence[int]],
    planned: Mapping[int, int],
    name: str,
) -> _Proposal | None:
    sites = units[name]
    votes: Counter[str] = Counter()
    total = own_links = 0
    for at in sites:
        site = expected.sites[at]
        if not identities.seen[at]:
            continue
        ends = subnet.ends_of(identities.base[at] >> PORT_BITS) if site.switch else [identities.base[at] + 1]
        for end in ends:
            peer = subnet.peer.get(end, -1)
            meant = planned.get(peer)
            target, far = identities.site_at(meant or -1), identities.site_at(peer)
            if meant is None or target is None or (far is not None and expected.sites[far].unit == name):
                continue  # a trace inside a director moves with it
            total += 1
            own_links += meant == end
            other = expected.sites[target]
            same_port = not site.switch or meant & PORT_MASK == end & PORT_MASK
            if other.switch == site.switch and other.slot == site.slot and same_port:
                votes[other.unit] += 1
    if not votes:
        return None
    unit, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    targets = units[unit]
    first, place = expected.sites[sites[0]], expected.sites[targets[0]]
    if unit == name or count < _FEWEST_LINKS or 2 * count < total or len(targets) != len(sites):
        return None
    if first.device.model != place.device.model or first.ports != place.ports:
        return None
    if own_links and not any(identities.seen[at] for at in targets):
        return None  # nobody stands in two places: these are two devices with one GUID
    ends_of_sites = tuple(identities.base[at] if identities.seen[at] else None for at in sites)
    return _Proposal(ends_of_sites, tuple(targets), count)


def _stranger(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities, planned: Mapping[int, int], node: int
) -> _Proposal | None:
    switch = subnet.nodes[node].kind == "switch"
    votes: Counter[int] = Counter()
    base = node << PORT_BITS
    for end in subnet.ends_of(node):
        meant = planned.get(subnet.peer[end])
        target = None if meant is None else identities.site_at(meant)
        if meant is None or target is None or identities.seen[target] or expected.sites[target].switch != switch:
            continue
        if (
            meant & PORT_MASK == end & PORT_MASK
            if switch
            else _may_be(subnet.nodes[node].description, expected.sites[target])
        ):
            votes[target] += 1
            base = base if switch else end - 1
    if not votes or (switch and max(votes.values()) < _FEWEST_LINKS):
        return None
    target, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    return _Proposal((base,), (target,), count)


def _may_be(description: str, site: ExpectedNode) -> bool:
    """Whether an adapter can be the planned one: it names no host, or the right one."""
    host = description.partition(" ")[0].partition(".")[0]
    return host == site.device.name or _UNNAMED.match(description) is not None


def _agreed(proposals: dict[str, _Proposal], expected: ExpectedSubnet, identities: Identities) -> dict[str, _Proposal]:
    """The proposals that fit together: one for each place, and no place whose own unit stays in it."""
    best: dict[tuple[int, ...], str] = {}
    for name, proposal in sorted(proposals.items()):
        rival = best.get(proposal.targets)
        if rival is None or proposals[rival].votes < proposal.votes:
            best[proposal.targets] = name
    agreed = {name: proposals[name] for name in best.values()}
    while True:
        kept = {
            name: proposal
            for name, proposal in agreed.items()
            if expected.sites[proposal.targets[0]].unit in agreed
            or not any(identities.seen[at] for at in proposal.targets)
        }
        if len(kept) == len(agreed):
            return kept
        agreed = kept
