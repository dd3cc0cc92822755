"""Comparison of a running twin with its declared isolation: the whole matrix of packets, and every difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from clusterwright.artifact import Artifact
from clusterwright.extras.lab.isolation.expectation import EVERY_PLACE, INPUT, LISTS, OUTPUT, PacketExpectation, Trip
from clusterwright.extras.lab.isolation.member_routes import routes_outside
from clusterwright.extras.lab.isolation.members import Stage, set_stage
from clusterwright.extras.lab.isolation.node_rules import booting, filtering, opened
from clusterwright.extras.lab.isolation.probes import (
    ANSWER,
    FRAGMENTS,
    OTHER,
    PORT,
    Probe,
    answer_of,
    matrix,
    probe_phrase,
    unfiltered_pairs,
)
from clusterwright.extras.lab.isolation.raw_packets import ACK, RST, TCP, UDP
from clusterwright.extras.lab.isolation.traffic import ObservedProbes, StageSockets, listening
from clusterwright.extras.lab.isolation.visitors import clear, load_lists, visiting
from clusterwright.extras.lab.twin import Twin
from clusterwright.finding import ClusterwrightError
from clusterwright.output.renderers import RENDERERS
from clusterwright.proofs.isolation.declaration import declared_of
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.nodes import BOOTING, RUNNING
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.switches.readers import ROUTERS

_ATTEMPTS = 3  # for packets expected to arrive: neighbour discovery drops the first ones
_FIRST_PORTS = range(10000, 32000)
_PHASES = (
    (frozenset({OUTPUT}), False),
    (frozenset({INPUT}), False),
    (frozenset({LISTS}), False),
    (EVERY_PLACE, True),
)
_PORTS_OF_A_PHASE = 2000  # four for each packet between two members
_KINDS = frozenset({"nftables", "node-network"}).union(*(reader.kinds for reader in ROUTERS))
_NUMBERS = {"tcp": TCP, "udp": UDP}


@dataclass(frozen=True, slots=True)
class StrayPacket:
    """A packet with another fate than declared."""

    packet: str
    sender: str
    receiver: str
    expected: str
    happened: str


@dataclass(frozen=True, slots=True)
class IsolationResult:
    """Sent packets, their expected fate, and the differences.

    ``sent`` counts packets by kind, ``arrived`` and ``stopped`` by expected fate; ``without_flow`` are packets that
    pass only because lists of switches do not track connections. ``unjudged`` are pairs without a filter between them
    and without a declared path. ``lists`` counts switch ports with a list, ``nodes`` rule sets.
    """

    zones: int
    members: int
    pairs: int
    nodes: int
    lists: int
    sent: Mapping[str, int]
    arrived: int
    stopped: int
    without_flow: Mapping[str, int]
    unjudged: tuple[tuple[str, str], ...]
    routes: tuple[str, ...]
    differences: tuple[StrayPacket, ...]

    @property
    def is_as_declared(self) -> bool:
        """True without any difference and without a route to the internet."""
        return not self.differences and not self.routes


def rendered_filters(twin: Twin) -> RenderedTree:
    """The rendered filters of a twin's switches, and of all hosts behind them."""
    plan = twin.plan
    near = {cable.a.device for cable in plan.cables if cable.fabric == twin.fabric and cable.b.device in twin.view_of}
    devices = [device for device in plan.devices if device.name in twin.view_of or device.name in near]
    artifacts: list[Artifact] = []
    for renderer in RENDERERS:
        if renderer.kind not in _KINDS:
            continue
        for device in devices:
            if renderer.applies(plan, device):
                artifacts += renderer.render(plan, device)
    return tree_of(plan.name, artifacts)


def compare(twin: Twin, tree: RenderedTree) -> IsolationResult:
    """Send the whole matrix through a running twin with the filters of ``tree``, and compare it with the declaration.

    Every packet is sent several times: first without filters, where each must arrive, so that a later loss is due to a
    filter; then through each kind of place alone, since the next place would hide one that permits too much; then
    through all of them. Raises ClusterwrightError, with the twin restored.
    """
    stage = set_stage(twin, tree, declared_of(twin.plan))
    first = _first_port(stage.declared)
    clear(twin)
    routes = tuple(routes_outside(stage))
    lists = 0
    probes: list[Probe] = []
    whole: list[Probe] = []
    differences: list[StrayPacket] = []
    with visiting(stage), listening(stage) as traffic, filtering(stage, tree):
        with opened(stage, (OUTPUT, INPUT)):
            control = list(matrix(stage, PacketExpectation(stage, RUNNING), 0, first))
            differences += [_uncarried(probe) for probe in _missing(traffic, control)]
        for phase_number, (places, answers) in enumerate(_PHASES, start=1):
            if LISTS in places and not lists:
                lists = load_lists(stage)
            with opened(stage, {OUTPUT, INPUT} - places):
                expectation, port = PacketExpectation(stage, RUNNING, places), first + phase_number * _PORTS_OF_A_PHASE
                phase_probes, phase_differences = _phase(
                    traffic, expectation, len(control) + len(probes), port, answers=answers
                )
            probes, differences, whole = [*probes, *phase_probes], [*differences, *phase_differences], phase_probes
        if any(member.booting is not None for member in stage.members):
            with booting(stage, tree):
                expectation, port = PacketExpectation(stage, BOOTING), first + (1 + len(_PHASES)) * _PORTS_OF_A_PHASE
                phase_probes, phase_differences = _phase(
                    traffic, expectation, len(control) + len(probes), port, answers=True
                )
            probes, differences = [*probes, *phase_probes], [*differences, *phase_differences]
    passing = [probe for probe in whole if not probe.stopped]
    without_flow = Counter(probe.kind for probe in passing if not _has_flow(stage, probe))
    return IsolationResult(
        zones=len(set(chain.from_iterable(member.zones for member in stage.members))),
        members=len(stage.members),
        pairs=len({(probe.trip.sender.name, probe.trip.receiver.name) for probe in probes}),
        nodes=sum(member.running is not None for member in stage.members),
        lists=lists,
        sent=dict(sorted(Counter(probe.kind for probe in probes).items())),
        arrived=sum(not probe.stopped for probe in probes),
        stopped=sum(bool(probe.stopped) for probe in probes),
        without_flow=dict(sorted(without_flow.items())),
        unjudged=tuple((a.name, b.name) for a, b in unfiltered_pairs(stage)),
        routes=routes,
        differences=tuple(differences),
    )


def _phase(
    traffic: StageSockets, expectation: PacketExpectation, number: int, port: int, *, answers: bool
) -> tuple[list[Probe], list[StrayPacket]]:
    """Send requests, then with ``answers`` the answers to arrived ones."""
    probes = list(matrix(traffic.stage, expectation, number, port))
    seen = _exchange(traffic, probes)
    if not answers:
        return probes, _differences(probes, seen.arrived)
    passing = [probe for probe in probes if not probe.stopped and probe.number in seen.arrived]
    requests = [probe for probe in passing if probe.kind == PORT and not probe.trip.past_filter]
    after = probes[-1].number + 1 if probes else number
    datagrams = [probe for probe in requests if probe.trip.packet.protocol == UDP]
    replies = [answer_of(probe, number, expectation) for number, probe in enumerate(datagrams, start=after)]
    later = _exchange(traffic, replies)
    refusals = [_refusal(probe, expectation) for probe in requests if probe.trip.packet.protocol == TCP]
    differences = [
        *_differences(probes, seen.arrived),
        *_differences(replies, later.arrived),
        *_differences(refusals, seen.refused),
    ]
    # A refusal has its request's number, but counts as a packet of its own.
    return [*probes, *refusals, *replies], differences


def _exchange(traffic: StageSockets, probes: list[Probe]) -> ObservedProbes:
    """Send every probe; those missing although expected to arrive are sent again."""
    seen = traffic.exchange(probes)
    for _ in range(_ATTEMPTS - 1):
        missing = [probe for probe in probes if not probe.stopped and not _is_complete(probe, seen)]
        if not missing:
            break
        again = traffic.exchange(missing)
        seen.arrived |= again.arrived
        seen.refused |= again.refused
    return seen


def _is_complete(probe: Probe, seen: ObservedProbes) -> bool:
    """True for an arrived probe; for a connection only if the refusal of the receiver's kernel arrived too."""
    if probe.number not in seen.arrived:
        return False
    is_connection = probe.kind == PORT and probe.trip.packet.protocol == TCP and not probe.trip.past_filter
    return not is_connection or probe.number in seen.refused


def _missing(traffic: StageSockets, probes: list[Probe]) -> list[Probe]:
    """The probes missing after all attempts."""
    missing = probes
    for _ in range(_ATTEMPTS):
        arrived = traffic.exchange(missing).arrived
        missing = [probe for probe in missing if probe.number not in arrived]
        if not missing:
            break
    return missing


def _refusal(probe: Probe, expectation: PacketExpectation) -> Probe:
    """The answer of the receiver's kernel to a connection to a closed port."""
    trip, packet = probe.trip, probe.trip.packet
    back = replace(
        packet,
        source=packet.target,
        target=packet.source,
        sport=packet.dport,
        dport=packet.sport,
        flags=RST | ACK,
    )
    answer = Trip(trip.receiver, trip.sender, back, is_answer=True)
    return Probe(number=probe.number, kind=ANSWER, trip=answer, stopped=expectation.stopped_at(answer) or "")


def _differences(probes: Iterable[Probe], arrived: set[int]) -> list[StrayPacket]:
    differences = []
    for probe in probes:
        if (probe.number in arrived) is bool(probe.stopped):
            expected = f"stopped at {probe.stopped}" if probe.stopped else "arrives"
            happened = "arrived" if probe.stopped else "did not arrive"
            differences.append(_difference(probe, expected, happened))
    return differences


def _uncarried(probe: Probe) -> StrayPacket:
    return _difference(probe, "carried while nothing is filtered", "did not arrive, so nothing can be said of filters")


def _difference(probe: Probe, expected: str, happened: str) -> StrayPacket:
    return StrayPacket(
        packet=probe_phrase(probe),
        sender=probe.trip.sender.name,
        receiver=probe.trip.receiver.name,
        expected=expected,
        happened=happened,
    )


def _has_flow(stage: Stage, probe: Probe) -> bool:
    """True for a packet permitted by a declared flow, independent of the filters on its path."""
    packet, trip = probe.trip.packet, probe.trip
    if probe.kind == ANSWER:
        return True
    if probe.kind not in {PORT, OTHER, FRAGMENTS}:
        return False
    for flow in stage.declared.flows:
        is_between = flow.source in trip.sender.zones and flow.target in trip.receiver.zones
        is_of_protocol = _NUMBERS.get(flow.protocol) == packet.protocol
        if is_between and is_of_protocol and (flow.ports is None or packet.dport in flow.ports):
            return True
    return False


def _first_port(declared: DeclaredIsolation) -> int:
    """The first of consecutive ports outside of all flows. Raises ClusterwrightError for a spec without such ports."""
    count = (len(_PHASES) + 2) * _PORTS_OF_A_PHASE
    taken: list[tuple[int, int]] = []
    for flow in declared.flows:
        if flow.ports is not None:
            taken += flow.ports.bounds
    for port in range(_FIRST_PORTS.start, _FIRST_PORTS.stop - count, 7):
        if all(high + 1 < port or low - 1 > port + count for low, high in taken):
            return port
    raise ClusterwrightError(
        f"no {count} ports in a row from {_FIRST_PORTS.start} to {_FIRST_PORTS.stop} are free of flows, to try"
        " packets with."
    )
