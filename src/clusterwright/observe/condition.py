"""Differences of correctly cabled devices and links: models, GUIDs, widths and speeds."""

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
SHARP_PORTS = 1  # the internal port that a switch adds for its aggregation node
# IEEE's registry of organisationally unique identifiers, as a node's vendor ID: Mellanox, now NVIDIA.
_VENDOR_IDS = {"NVIDIA": frozenset({0x0002C9})}
_MANAGED = re.compile(r"MF\d+;[^:;]+:([^/]+)/")


def rate_differences(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities, observed: Mapping[int, int]
) -> Iterator[ObservedDifference]:
    """Planned links running at fewer Gb/s than planned."""
    for link in expected.links:
        a, b = identities.base[link.a] + link.a_port, identities.base[link.b] + link.b_port
        if not link.speed_gbps or observed.get(a) != b:
            continue
        width, rate = subnet.rates.get(b) or subnet.rates.get(a) or (0, "")
        lane = LANE_GBPS.get(rate)
        if lane is None or width * lane >= link.speed_gbps:
            continue
        lower = expected.sites[link.a].place(link.a_port)
        upper = expected.sites[link.b].place(link.b_port)
        message = (
            f"the link between {lower} and {upper} runs at {width}x{rate}, {width * lane:g} Gb/s;"
            f" {link.speed_gbps} Gb/s are planned"
        )
        yield ObservedDifference(kind=DifferenceKind.SLOW_LINK, place=upper, message=message, cable=lower)


def guid_differences(
    expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities
) -> Iterator[ObservedDifference]:
    """Devices identified by name with another GUID than the scanned label."""
    if not identities.renamed:
        return
    guid_by_end = {end: guid for guid, end in subnet.by_port_guid.items()}
    for index in identities.renamed:
        site = expected.sites[index]
        base = identities.base[index]
        guid = subnet.nodes[base >> PORT_BITS].guid if site.switch else guid_by_end.get(base + 1, 0)
        real, label = format_guid(guid), format_guid(site.guid)
        message = f"{site.names[0]} answers with the GUID {real}; its label was scanned as {label}"
        yield ObservedDifference(DifferenceKind.OTHER_GUID, site.place(), message)


def model_differences(
    plan: Plan, expected: ExpectedSubnet, subnet: DiscoveredSubnet, identities: Identities
) -> Iterator[ObservedDifference]:
    """Switches with other port counts, makers or model names than planned."""
    model_by_name: dict[str, HardwareModel] = {}
    for catalogued in plan.spec.catalogue.values():
        for name in _reported_names(catalogued):
            model_by_name[name] = catalogued
    for index, site in enumerate(expected.sites):
        if not site.switch or not identities.seen[index]:
            continue
        node = subnet.nodes[identities.base[index] >> PORT_BITS]
        model = plan.spec.catalogue[site.device.model]
        managed = _MANAGED.match(node.description)
        reported_name = managed[1] if managed else ""
        reported_model = model_by_name.get(reported_name)
        vendors = _VENDOR_IDS.get(model.manufacturer)
        if reported_model is not None and reported_name not in _reported_names(model):
            deviation = f"is a {reported_model.name}"
        elif node.ports not in (site.ports, site.ports + SHARP_PORTS):
            deviation = f"has {node.ports} ports instead of {site.ports}"
        elif vendors and node.vendor and node.vendor not in vendors:
            deviation = f"has the vendor ID 0x{node.vendor:06x}"
        else:
            continue
        message = f"{site.names[0]} {deviation}; planned is a {model.name}"
        yield ObservedDifference(DifferenceKind.WRONG_MODEL, site.place(), message)


def _reported_names(model: HardwareModel) -> tuple[str, ...]:
    """Names of the model in a switch's node description: its order number up to the first dash, and its platform."""
    part = model.part.split("-")[0]
    return tuple(name for name in (part, model.platform) if name)
