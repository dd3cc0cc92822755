"""Devices that are absent, strange, doubled or in each other's places: each reported once, without its cables.

Functions that take ``planned`` and ``observed`` remove the explained cables from them, so that the comparison of cables
does not report these again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, MutableMapping, Sequence, Set

from clusterwright.and_more import and_more
from clusterwright.observe.difference import DifferenceKind, ObservedDifference, Place
from clusterwright.observe.expected import ExpectedSubnet
from clusterwright.observe.identity import Identities
from clusterwright.observe.relocation import Relocation
from clusterwright.observe.sentences import CableSentences, stranger_name
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet
from clusterwright.plan.model import format_guid

_Peers = MutableMapping[int, int]


def relocated(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, relocations: Sequence[Relocation]
) -> Iterator[ObservedDifference]:
    """Exchanged devices, devices in the place of absent ones, and strangers that stand where somebody is planned."""
    by_unit = {name: site for site in expected.sites for name in (site.unit, site.names[0])}
    goes = {item.seen: item.place for item in relocations if item.seen is not None}
    for item in relocations:
        place = by_unit[item.place]
        if item.seen is None:
            guid = format_guid(subnet.nodes[item.node].guid)
            stranger = stranger_name(subnet, item.node)
            message = f"{stranger} is cabled as {item.place}: give {item.place} the GUID {guid} in the spec"
            if place.scanned:
                message = (
                    f"{stranger} is cabled as {item.place}, whose label was scanned as {format_guid(place.guid)}:"
                    " another device stands there, or the label was read wrong; look at it before the spec changes"
                )
            yield ObservedDifference(DifferenceKind.OTHER_GUID, place.place(), message)
            continue
        here = by_unit[item.seen]
        # Of a director all chips say the same, once.
        ours, theirs = here.device.name, place.device.name
        if ours == theirs:
            ours, theirs = item.seen, item.place
        if goes.get(item.place) == item.seen:
            first, second = sorted((ours, theirs))
            device = min(here.device, place.device, key=lambda node: node.name)
            spot = Place(device=device.name, port="", rack=device.rack, unit=device.unit)
            yield ObservedDifference(
                DifferenceKind.EXCHANGED_DEVICES,
                spot,
                f"{first} and {second} are exchanged: each has the other's cables",
            )
        elif item.place in goes:
            yield ObservedDifference(
                DifferenceKind.EXCHANGED_DEVICES,
                place.place(),
                f"{ours} stands in the place of {theirs}, with its cables",
            )
        else:
            yield ObservedDifference(
                DifferenceKind.DISPLACED_DEVICE,
                place.place(),
                f"{ours} answers in the place of {theirs}, and nobody answers as {theirs}:"
                " it stands there, or both have the same GUID",
            )


def internal_faults(
    expected: ExpectedSubnet, identities: Identities, planned: _Peers, observed: _Peers
) -> Iterator[ObservedDifference]:
    """Traces inside directors that are down; strikes all of them, since nobody moves a trace."""
    for link in expected.links:
        if link.speed_gbps:
            continue
        a, b = identities.base[link.a] + link.a_port, identities.base[link.b] + link.b_port
        up = observed.get(a) == b
        _strike(planned, a)
        if up:
            _strike(observed, a)
        elif link.required and identities.seen[link.a] and identities.seen[link.b]:
            leaf, spine = expected.sites[link.a], expected.sites[link.b]
            message = f"the link inside {leaf.device.name} between {leaf.names[0]} and {spine.names[0]} is down"
            yield ObservedDifference(DifferenceKind.INTERNAL_LINK, leaf.place(), message)


def twins(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities, planned: _Peers, observed: _Peers
) -> Iterator[ObservedDifference]:
    """GUIDs that more than one node has, as far as the scan shows where."""
    silent = [
        at for at, site in enumerate(expected.sites)
        if not site.switch and not identities.seen[at] and identities.base[at] + 1 in planned
        and planned[identities.base[at] + 1] not in observed
    ]  # fmt: skip
    for guid in subnet.duplicates:
        end = subnet.by_port_guid.get(guid)
        at = None if end is None else identities.site_at(end)
        if end is None or at is None or end not in observed:
            continue
        site, port = expected.sites[at], observed[end]
        meant = identities.site_at(planned.get(port, -1))
        text = f"GUID {format_guid(guid)}, planned for {site.names[0]}, is answered by more than one adapter"
        if meant is not None and meant != at and not identities.seen[meant]:
            other = expected.sites[meant]
            yield ObservedDifference(
                DifferenceKind.DUPLICATE_GUID, other.place(), f"{text}: also where {other.names[0]} is planned"
            )
            for struck in (end, identities.base[meant] + 1):
                _strike(planned, struck)
            _strike(observed, end)
        elif len(silent) == 1:
            other = expected.sites[silent[0]]
            message = f"{text}: the other one can only be {other.names[0]}, as which nobody answers"
            yield ObservedDifference(DifferenceKind.DUPLICATE_GUID, other.place(), message)
            _strike(planned, identities.base[silent[0]] + 1)
        else:
            yield ObservedDifference(
                DifferenceKind.DUPLICATE_GUID, site.place(), f"{text}: look among the adapters that do not answer"
            )
    for node, ends in _contested(subnet).items():
        guid = subnet.nodes[node].guid
        shown = CableSentences(expected, subnet, identities)
        places = [shown.place(end) for end in ends]
        listed = and_more([str(place) for place in places], 4)
        message = f"GUID {format_guid(guid)} is answered by more than one node: also at {listed}"
        yield ObservedDifference(DifferenceKind.DUPLICATE_GUID, places[0], message)
        for end in ends:
            _strike(planned, end)


def _contested(subnet: DiscoveredSubnet) -> dict[int, list[int]]:
    claims_by_site: dict[int, list[int]] = defaultdict(list)
    for end, others in subnet.contested.items():
        claims_by_site[end >> PORT_BITS].extend(others)
    return claims_by_site


def doubled_switches(
    expected: ExpectedSubnet,
    subnet: DiscoveredSubnet,
    identities: Identities,
    *,
    planned: _Peers,
    observed: _Peers,
    reported_units: set[str],
) -> Iterator[ObservedDifference]:
    """Silent switches whose cables another one answers with; adds them to ``reported_units``.

    ibnetdiscover takes two switches with one GUID for a single one, and of two cables at the same port number it lists
    the one it met last: of a doubled leaf that may be one cable. A dead switch whose cable somebody has moved to the
    same port of another one reads the same, so that both are said. The GUID is the one that answers, not a planned one.
    """
    for at, site in enumerate(expected.sites):
        if not site.switch or identities.seen[at] or site.unit in reported_units:
            continue
        far = [planned.get(identities.base[at] + port, -1) for port in range(1, site.ports + 1)]
        ends = [observed.get(end, -1) for end in far]
        claimed = [end for port, end in enumerate(ends, 1) if end >= 0 and end & PORT_MASK == port]
        nodes = {end >> PORT_BITS for end in claimed}
        if len(nodes) != 1:
            continue
        node = nodes.pop()
        twin = identities.site_at(node << PORT_BITS)
        wrong = [end for end in subnet.ends_of(node) if end in observed and planned.get(end) != observed[end]]
        if twin is None or set(wrong) != set(claimed):
            continue
        silent, name = site.names[0], expected.sites[twin].names[0]
        shown = CableSentences(expected, subnet, identities)
        listed = and_more([str(shown.place(observed[end])) for end in claimed], 4)
        where = "cable from {} ends at the same port" if len(claimed) == 1 else "cables from {} end at the same ports"
        guid = format_guid(subnet.nodes[node].guid)
        message = (
            f"{silent} does not answer, and its {where.format(listed)} of {name}: {silent} is down and somebody moved"
            f" {'it' if len(claimed) == 1 else 'them'}, or both switches answer as GUID {guid}; look which of the two"
            " it is"
        )
        yield ObservedDifference(DifferenceKind.AMBIGUOUS, site.place(), message)
        reported_units.add(silent)
        for end in claimed:
            _strike(observed, end)
            _strike(planned, end)


def absent_switches(
    expected: ExpectedSubnet, identities: Identities, planned: _Peers, reported_units: Set[str]
) -> Iterator[ObservedDifference]:
    """Switches and directors' chips that do not answer, without ``reported_units``; strikes their cables."""
    chips: dict[str, list[int]] = defaultdict(list)
    for at, site in enumerate(expected.sites):
        if site.switch:
            chips[site.device.name].append(at)
    for name, sites in chips.items():
        silent = [at for at in sites if not identities.seen[at]]
        for at in silent:
            for port in range(1, expected.sites[at].ports + 1):
                _strike(planned, identities.base[at] + port)
        device = expected.sites[sites[0]].device
        news = [at for at in silent if reported_units.isdisjoint((name, expected.sites[at].names[0]))]
        if device.state != "active" or not news:
            continue
        if len(news) == len(sites):
            place = Place(device=name, port="", rack=device.rack, unit=device.unit)
            yield ObservedDifference(
                DifferenceKind.MISSING_DEVICE, place, f"{name} ({device.model}) is not there: it does not answer"
            )
            continue
        for at in news:
            chip = expected.sites[at]
            yield ObservedDifference(DifferenceKind.MISSING_DEVICE, chip.place(), f"{chip.names[0]} does not answer")


def absent_hosts(
    expected: ExpectedSubnet, identities: Identities, planned: _Peers, reported_units: Set[str]
) -> Iterator[ObservedDifference]:
    """Hosts of which no adapter answers; strikes their cables. A host with one cable is told by its cable instead."""
    hosts: dict[str, list[int]] = defaultdict(list)
    for at, site in enumerate(expected.sites):
        if not site.switch:
            hosts[site.device.name].append(at)
    for name, sites in hosts.items():
        device = expected.sites[sites[0]].device
        ends = [identities.base[at] + 1 for at in sites if identities.base[at] + 1 in planned]
        if len(ends) < 2 or any(identities.seen[at] for at in sites):
            continue
        for end in ends:
            _strike(planned, end)
        if device.state == "active" and name not in reported_units:
            place = Place(device=name, port="", rack=device.rack, unit=device.unit)
            yield ObservedDifference(
                DifferenceKind.MISSING_DEVICE, place, f"{name} is not there: none of its {len(ends)} adapters answers"
            )


def strangers(
    subnet: DiscoveredSubnet, identities: Identities, observed: _Peers, speaker: CableSentences
) -> Iterator[ObservedDifference]:
    """Nodes that no plan explains, by the first place where they are cabled."""
    for node in subnet.by_guid.values():
        if node << PORT_BITS in identities.owner:
            continue
        ends = [end for end in subnet.ends_of(node) if end in observed]
        unknown = [end for end in ends if identities.site_at(end) is None]
        if not unknown:
            continue
        neighbours = [observed[end] for end in unknown if speaker.site(observed[end]) is not None]
        name = stranger_name(subnet, node)
        if neighbours:
            at = speaker.place(neighbours[0])
            more = f" and has {len(unknown) - 1} more cables" if len(unknown) > 1 else ""
            yield ObservedDifference(
                DifferenceKind.UNEXPECTED_DEVICE, at, f"{name} is cabled to {at}{more}, and no plan knows it"
            )
        else:
            yield ObservedDifference(
                DifferenceKind.UNEXPECTED_DEVICE, speaker.place(unknown[0]), f"no plan knows {name}"
            )


def _strike(peers: _Peers, end: int) -> None:
    other = peers.pop(end, None)
    if other is not None:
        peers.pop(other, None)
