"""Absent, unplanned, doubled and exchanged devices: each reported once, without its cables.

Functions with ``planned`` and ``observed`` remove the explained cables from them, so that the comparison of cables does
not report these again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence, Set

from clusterwright.and_more import and_more
from clusterwright.observe.difference import DifferenceKind, ObservedDifference, Place
from clusterwright.observe.expected import ExpectedNode, ExpectedSubnet
from clusterwright.observe.identity import Identities
from clusterwright.observe.relocation import Relocation
from clusterwright.observe.sentences import CableSentences, stranger_name
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet
from clusterwright.plan.model import Device, format_guid

_Peers = MutableMapping[int, int]


def relocated(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, relocations: Sequence[Relocation]
) -> Iterator[ObservedDifference]:
    """Exchanged devices, devices in the place of absent ones, and unplanned devices in planned places."""
    site_by_name: dict[str, ExpectedNode] = {}
    for site in expected.sites:
        site_by_name[site.unit] = site
        site_by_name[site.names[0]] = site
    place_by_unit = {item.seen: item.place for item in relocations if item.seen is not None}
    for item in relocations:
        site = site_by_name[item.place]
        if item.seen is None:
            yield _unplanned_guid(subnet, item, site)
        else:
            yield _moved_unit(site_by_name[item.seen], site, item.seen, item.place, place_by_unit)


def _unplanned_guid(subnet: DiscoveredSubnet, relocation: Relocation, site: ExpectedNode) -> ObservedDifference:
    """An unplanned device cabled as ``site``."""
    guid = format_guid(subnet.nodes[relocation.node].guid)
    stranger = stranger_name(subnet, relocation.node)
    place = relocation.place
    if site.scanned:
        message = (
            f"{stranger} is cabled as {place}, whose label was scanned as {format_guid(site.guid)}:"
            " another device is there, or the label was misread; check it before you change the spec"
        )
    else:
        message = f"{stranger} is cabled as {place}: give {place} the GUID {guid} in the spec"
    return ObservedDifference(DifferenceKind.OTHER_GUID, site.place(), message)


def _moved_unit(
    moved: ExpectedNode, site: ExpectedNode, unit: str, place: str, place_by_unit: Mapping[str, str]
) -> ObservedDifference:
    """The planned device of ``moved`` standing at ``site``."""
    # All chips of a director yield the same difference, reported once.
    moved_name, planned_name = moved.device.name, site.device.name
    if moved_name == planned_name:
        moved_name, planned_name = unit, place
    if place_by_unit.get(place) == unit:
        first, second = sorted((moved_name, planned_name))
        device = min(moved.device, site.device, key=lambda node: node.name)
        return ObservedDifference(
            DifferenceKind.EXCHANGED_DEVICES,
            _whole_device(device),
            f"{first} and {second} are exchanged: each has the other's cables",
        )
    if place in place_by_unit:
        return ObservedDifference(
            DifferenceKind.EXCHANGED_DEVICES,
            site.place(),
            f"{moved_name} is in the place of {planned_name}, with its cables",
        )
    return ObservedDifference(
        DifferenceKind.DISPLACED_DEVICE,
        site.place(),
        f"{moved_name} answers in the place of {planned_name}, and no device answers as {planned_name}:"
        " it was installed there, or both have the same GUID",
    )


def _whole_device(device: Device) -> Place:
    return Place(device=device.name, port="", rack=device.rack, unit=device.unit)


def internal_faults(
    expected: ExpectedSubnet, identities: Identities, planned: _Peers, observed: _Peers
) -> Iterator[ObservedDifference]:
    """Traces inside directors without a link; removes all traces, since they are no cables to move."""
    for link in expected.links:
        if link.speed_gbps:
            continue
        a, b = identities.base[link.a] + link.a_port, identities.base[link.b] + link.b_port
        is_up = observed.get(a) == b
        _remove(planned, a)
        if is_up:
            _remove(observed, a)
        elif link.required and identities.seen[link.a] and identities.seen[link.b]:
            leaf, spine = expected.sites[link.a], expected.sites[link.b]
            message = f"the link inside {leaf.device.name} between {leaf.names[0]} and {spine.names[0]} is down"
            yield ObservedDifference(DifferenceKind.INTERNAL_LINK, leaf.place(), message)


def twins(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities, planned: _Peers, observed: _Peers
) -> Iterator[ObservedDifference]:
    """GUIDs of more than one node, with the second place as far as the scan shows it."""
    silent = _silent_adapters(expected, identities, planned, observed)
    for guid in subnet.duplicates:
        end = subnet.by_port_guid.get(guid)
        if end is None or end not in observed:
            continue
        index = identities.site_at(end)
        if index is None:
            continue
        site = expected.sites[index]
        planned_index = identities.site_at(planned.get(observed[end], -1))
        problem = f"GUID {format_guid(guid)}, planned for {site.names[0]}, is answered by more than one adapter"
        if planned_index is not None and planned_index != index and not identities.seen[planned_index]:
            twin = expected.sites[planned_index]
            message = f"{problem}: also where {twin.names[0]} is planned"
            yield ObservedDifference(DifferenceKind.DUPLICATE_GUID, twin.place(), message)
            _remove(planned, end)
            _remove(planned, identities.base[planned_index] + 1)
            _remove(observed, end)
        elif len(silent) == 1:
            twin = expected.sites[silent[0]]
            message = f"{problem}: the other one can only be {twin.names[0]}, which does not answer"
            yield ObservedDifference(DifferenceKind.DUPLICATE_GUID, twin.place(), message)
            _remove(planned, identities.base[silent[0]] + 1)
        else:
            message = f"{problem}: look among the adapters that do not answer"
            yield ObservedDifference(DifferenceKind.DUPLICATE_GUID, site.place(), message)
    sentences = CableSentences(expected, subnet, identities)
    for node, ends in _contested(subnet).items():
        guid = subnet.nodes[node].guid
        places = [sentences.place(end) for end in ends]
        listed = and_more([str(place) for place in places], 4)
        message = f"GUID {format_guid(guid)} is answered by more than one node: also at {listed}"
        yield ObservedDifference(DifferenceKind.DUPLICATE_GUID, places[0], message)
        for end in ends:
            _remove(planned, end)


def _silent_adapters(expected: ExpectedSubnet, identities: Identities, planned: _Peers, observed: _Peers) -> list[int]:
    """Sites of unseen adapters with a planned cable and nothing else at its far end."""
    silent = []
    for index, site in enumerate(expected.sites):
        if site.switch or identities.seen[index]:
            continue
        peer = planned.get(identities.base[index] + 1)
        if peer is not None and peer not in observed:
            silent.append(index)
    return silent


def _contested(subnet: DiscoveredSubnet) -> dict[int, list[int]]:
    """Rejected ends by the node of their claimed peer."""
    rejected_by_node: dict[int, list[int]] = defaultdict(list)
    for end, rejected_ends in subnet.contested.items():
        rejected_by_node[end >> PORT_BITS].extend(rejected_ends)
    return rejected_by_node


def doubled_switches(
    expected: ExpectedSubnet,
    subnet: DiscoveredSubnet,
    identities: Identities,
    *,
    planned: _Peers,
    observed: _Peers,
    reported_units: set[str],
) -> Iterator[ObservedDifference]:
    """Silent switches with their cables at another one; adds them to ``reported_units``.

    ibnetdiscover takes two switches with one GUID for a single one, and of two cables at the same port number it lists
    the last one: of a doubled leaf that may be one cable. A dead switch with its cable moved to the same port of
    another switch has the same listing, so that both causes are reported. The GUID is the one in the scan, not a
    planned one.
    """
    sentences = CableSentences(expected, subnet, identities)
    for index, site in enumerate(expected.sites):
        if not site.switch or identities.seen[index] or site.unit in reported_units:
            continue
        claimed_ends = _ends_at_same_port(site, identities.base[index], planned, observed)
        nodes = {end >> PORT_BITS for end in claimed_ends}
        if len(nodes) != 1:
            continue
        node = nodes.pop()
        twin = identities.site_at(node << PORT_BITS)
        observed_ends = [end for end in subnet.ends_of(node) if end in observed]
        wrong_ends = {end for end in observed_ends if planned.get(end) != observed[end]}
        if twin is None or wrong_ends != set(claimed_ends):
            continue
        silent, name = site.names[0], expected.sites[twin].names[0]
        listed = and_more([str(sentences.place(observed[end])) for end in claimed_ends], 4)
        if len(claimed_ends) == 1:
            cables, pronoun = f"cable from {listed} ends at the same port", "it"
        else:
            cables, pronoun = f"cables from {listed} end at the same ports", "them"
        guid = format_guid(subnet.nodes[node].guid)
        message = (
            f"{silent} does not answer, and its {cables} of {name}: {silent} is down and somebody moved"
            f" {pronoun}, or both switches answer as GUID {guid}; look which of the two it is"
        )
        yield ObservedDifference(DifferenceKind.AMBIGUOUS, site.place(), message)
        reported_units.add(silent)
        for end in claimed_ends:
            _remove(observed, end)
            _remove(planned, end)


def _ends_at_same_port(switch: ExpectedNode, base: int, planned: _Peers, observed: _Peers) -> list[int]:
    """Ends of the switch's planned cables at other nodes, at the planned port numbers."""
    ends = []
    for port in range(1, switch.ports + 1):
        far_end = planned.get(base + port, -1)
        end = observed.get(far_end, -1)
        if end >= 0 and end & PORT_MASK == port:
            ends.append(end)
    return ends


def absent_switches(
    expected: ExpectedSubnet, identities: Identities, planned: _Peers, reported_units: Set[str]
) -> Iterator[ObservedDifference]:
    """Silent switches and directors' chips outside ``reported_units``; removes the cables of all silent ones."""
    chips: dict[str, list[int]] = defaultdict(list)
    for index, site in enumerate(expected.sites):
        if site.switch:
            chips[site.device.name].append(index)
    for name, sites in chips.items():
        silent = [index for index in sites if not identities.seen[index]]
        for index in silent:
            for port in range(1, expected.sites[index].ports + 1):
                _remove(planned, identities.base[index] + port)
        device = expected.sites[sites[0]].device
        unreported = [index for index in silent if reported_units.isdisjoint((name, expected.sites[index].names[0]))]
        if device.state != "active" or not unreported:
            continue
        if len(unreported) == len(sites):
            message = f"{name} ({device.model}) is not there: it does not answer"
            yield ObservedDifference(DifferenceKind.MISSING_DEVICE, _whole_device(device), message)
            continue
        for index in unreported:
            chip = expected.sites[index]
            yield ObservedDifference(DifferenceKind.MISSING_DEVICE, chip.place(), f"{chip.names[0]} does not answer")


def absent_hosts(
    expected: ExpectedSubnet, identities: Identities, planned: _Peers, reported_units: Set[str]
) -> Iterator[ObservedDifference]:
    """Hosts with silent adapters alone; removes their cables. A host with one cable is reported as a missing link."""
    hosts: dict[str, list[int]] = defaultdict(list)
    for index, site in enumerate(expected.sites):
        if not site.switch:
            hosts[site.device.name].append(index)
    for name, sites in hosts.items():
        device = expected.sites[sites[0]].device
        ends = [identities.base[index] + 1 for index in sites if identities.base[index] + 1 in planned]
        if len(ends) < 2 or any(identities.seen[index] for index in sites):
            continue
        for end in ends:
            _remove(planned, end)
        if device.state == "active" and name not in reported_units:
            message = f"{name} is not there: none of its {len(ends)} adapters answers"
            yield ObservedDifference(DifferenceKind.MISSING_DEVICE, _whole_device(device), message)


def strangers(
    subnet: DiscoveredSubnet, identities: Identities, observed: _Peers, sentences: CableSentences
) -> Iterator[ObservedDifference]:
    """Unplanned nodes, by the first place of their cables."""
    for node in subnet.by_guid.values():
        if node << PORT_BITS in identities.owner:
            continue
        ends = [end for end in subnet.ends_of(node) if end in observed]
        unplanned_ends = [end for end in ends if identities.site_at(end) is None]
        if not unplanned_ends:
            continue
        planned_peers = [observed[end] for end in unplanned_ends if sentences.site(observed[end]) is not None]
        name = stranger_name(subnet, node)
        if planned_peers:
            place = sentences.place(planned_peers[0])
            more = f" and has {len(unplanned_ends) - 1} more cables" if len(unplanned_ends) > 1 else ""
            message = f"{name} is cabled to {place}{more}, and no plan knows it"
        else:
            place = sentences.place(unplanned_ends[0])
            message = f"no plan knows {name}"
        yield ObservedDifference(DifferenceKind.UNEXPECTED_DEVICE, place, message)


def _remove(peers: _Peers, end: int) -> None:
    """Remove a cable, in both directions."""
    peer = peers.pop(end, None)
    if peer is not None:
        peers.pop(peer, None)
