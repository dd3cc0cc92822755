"""CW513: ranges of ports that a switch passes whole, to hosts that nothing else keeps narrow."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.isolation import Flow, Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import lives_on, members_of

# The longest range that is listed port by port where filters know single ports only.
MOST_PORTS = 64


@rule(
    code="CW513",
    severity=Severity.ERROR,
    title="range of ports that a switch opens whole",
    why="The switch's filter knows single ports only and passes every port of the flow, and the host has no filter.",
    mend="Give the hosts an `image`, whose filter narrows it, or write ranges of at most 64 ports.",
    docs="FBOSS's access lists match one port an entry. Ranges of up to 64 ports are listed one by one; a longer one"
    " passes with every port of its protocol, and the replies from every port, which the filter of a node with an image"
    " narrows down. `clusterwright verify` refutes isolation where nothing does.",
)
def opened_whole(subject: Subject) -> Iterator[Problem]:
    """Flows with a long range over an edge without ranges, to or from hosts without an image."""
    spec = subject.spec
    for flow in spec.flows:
        if all(high - low < MOST_PORTS for low, high in flow.ports):
            continue
        found = next(_open(spec, flow), None)
        if found is not None:
            fabric, group = found
            message = (
                f"Flow {flow.name}: the lowest switches of {fabric} pass every port, and {group} has no filter of its"
                " own."
            )
            yield Problem((*flow.path, "ports"), message, f"Give {group} an `image`, or write shorter ranges.")


def _open(spec: ClusterSpec, flow: Flow) -> Iterator[tuple[str, str]]:
    """Fabric and node group that a flow or its replies reach unnarrowed."""
    source, target = spec.zone(flow.source), spec.zone(flow.target)
    if source is None or target is None:
        return
    for sender, receiver in ((source, target), (target, source)):
        shared = {fabric.name for fabric in lives_on(spec, receiver)}
        for fabric in lives_on(spec, sender):
            system = system_of(fabric.tiers[0].model)
            if fabric.name in shared and system is not None and not system.matches_ranges:
                yield from ((fabric.name, group) for group in _unfiltered(spec, receiver, fabric))


def _unfiltered(spec: ClusterSpec, zone: Zone, fabric: Fabric) -> Iterator[str]:
    """The members of a zone on a fabric that judge no packet themselves; a management port is nobody's filter."""
    members = members_of(spec, zone)
    is_managed = any(attach.is_management for attach in fabric.attach)
    for group in spec.node_groups:
        attached = is_managed or any(attach.nodes == group.name for attach in fabric.attach)
        if attached and (is_managed or group.image is None) and (not members or group.name in members):
            yield group.name
