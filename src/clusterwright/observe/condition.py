"""What is cabled right and still not as planned: models, GUIDs, widths and speeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clusterwright.observe.difference import DifferenceKind, ObservedDifference
from clusterwright.observe.expected import ExpectedSubnet
from clusterwright.observe.identity import Identities
from clusterwright.observe.subnet import PORT_BITS, DiscoveredSubnet
from clusterwright.plan.model import Plan, format_guid
from clusterwright.spec.hardware.models import HardwareModel

# Nominal Gb/s of one lane, by the name that ibnetdiscover prints (InfiniBand Trade Association: 4x NDR is 400).
LANE_GBPS: Mapping[str, float] = {
    "SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200,
}  # fmt: skip
# IEEE's registry of organisationally unique identifiers, as a node's vendor ID: Mellanox, now NVIDIA.
SHARP_PORTS = 1  # the internal port that a switch adds for its aggregation node
_VENDOR_IDS = {"NVIDIA": frozenset({0x0002C9})}
_MANAGED = re.compile(r"MF\d+;[^:;]+:([^/]+)/")


def rate_differences(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities, observed: Mapping[int, int]
) -> Iterator[ObservedDifference]:
    """Planned links that are up with fewer Gb/s than planned."""
    for link in expected.links:
        a, b = identities.base[link.a] + link.a_port, identities.base[link.b] + link.b_port
        if not link.speed_gbps or observed.get(a) != b:
            continue
        width, rate = subnet.rates.get(b) or subnet.rates.get(a) or (0, "")
        lane = LANE_GBPS.get(rate)
        if lane is None or width * lane >= link.speed_gbps:
            continue
        one, other = expected.sites[link.a].place(link.a_port), expected.sites[link.b].place(link.b_port)
        message = (
            f"the link between {one} and {other} runs at {width}x{rate}, {width * lane:g} Gb/s;"
            f" {link.speed_gbps} Gb/s are planned"
        )
        yield ObservedDifference(kind=DifferenceKind.SLOW_LINK, place=other, message=message, cable=one)


def guid_differences(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities
) -> Iterator[ObservedDifference]:
    """Devices found by their names, whose GUID is not the one scanned for them."""
    ports = {end: guid for guid, end in subnet.by_port_guid.items()} if identities.renamed else {}
    for at in identities.renamed:
        site = expected.sites[at]
        base = identities.base[at]
        guid = subnet.nodes[base >> PORT_BITS].guid if site.switch else ports.get(base + 1, 0)
        real, label = format_guid(guid), format_guid(site.guid)
        message = f"{site.names[0]} answers with the GUID {real}; its label was scanned as {label}"
        yield ObservedDifference(DifferenceKind.OTHER_GUID, site.place(), message)


def model_differences(
    plan: Plan, expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities
) -> Iterator[ObservedDifference]:
    """Switches with other port counts, makers or model names than planned."""
    makers = {word: model for model in plan.spec.catalogue.values() for word in _terms(model)}
    for at, site in enumerate(expected.sites):
        if not site.switch or not identities.seen[at]:
            continue
        node = subnet.nodes[identities.base[at] >> PORT_BITS]
        model = plan.spec.catalogue[site.device.model]
        managed = _MANAGED.match(node.description)
        other = makers.get(managed[1]) if managed else None
        vendors = _VENDOR_IDS.get(model.manufacturer)
        if other is not None and managed and managed[1] not in _terms(model):
            seen = f"is a {other.name}"
        elif node.ports not in (site.ports, site.ports + SHARP_PORTS):
            seen = f"has {node.ports} ports instead of {site.ports}"
        elif vendors and node.vendor and node.vendor not in vendors:
            seen = f"has the vendor ID 0x{node.vendor:06x}"
        else:
            continue
        message = f"{site.names[0]} {seen}; planned is a {model.name}"
        yield ObservedDifference(DifferenceKind.WRONG_MODEL, site.place(), message)


def _terms(model: HardwareModel) -> tuple[str, ...]:
    """What a switch of this model may call itself: its order number up to the first dash, or its platform."""
    part = model.part.split("-")[0]
    return tuple(word for word in (part, model.platform) if word)
