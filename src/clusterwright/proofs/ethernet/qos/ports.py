"""Classes by port: each port classifies packets, pauses the lossless priorities, and has headroom after a pause.

The headroom is compared with the minimum of IEEE 802.1Q, Annex N: two longest frames, the pause frame, and the bytes in
flight for twice the cable, both interfaces and the sender's response. It is a lower bound: the margin of a real switch,
and frames that fill buffer cells badly, come on top. The cable has the larger of the lengths in the spec and the text;
0 m without either. A length in the text, from which the switch computes headroom, must be at least the spec's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.facts.router import STRICT, Mark, Port
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.qos.majority import priorities
from clusterwright.proofs.tree import RenderedTree

_FRAME_OVERHEAD_BYTES, _PAUSE_FRAME_BYTES = 22, 84
_RESPONSE_NS = 614.4  # Annex N: 6,144 bit times at 10 Gb/s
_INTERFACES_NS = 2 * 1158.4  # IEEE 802.3, table 116-6, for 400GBASE-R
_NS_PER_M = 5.0
_ROUNDING = 0.02  # of the bandwidth: EOS takes whole percents, the other systems weights
Shares = tuple[tuple[int, float], ...]


def port_faults(tree: RenderedTree, fabric: RoutedFabric, lossless: frozenset[int]) -> Iterator[Counterexample]:
    """Cabled ports without the settings of the fabric's lossless class, or unlike most ports."""
    usual = usual_shares(fabric)
    planned_cables = tree.declaration.cable_m if tree.declaration is not None else {}
    faults_by_settings: dict[tuple[int, float, int, float], list[tuple[str, Mark]]] = {}
    for router, port in fabric.ports:
        if not port.peer:
            continue
        planned_m = planned_cables.get((router.device, port.name), 0.0)
        # Readers share one object for equal ports.
        key = id(port.qos), port.speed_gbps, port.mtu_bytes, planned_m
        if key not in faults_by_settings:
            faults_by_settings[key] = [(fault, ()) for fault in _faults(port, lossless, usual, planned_m)]
            if lossless:
                faults_by_settings[key] += port.qos.losses
        for fault, mark in faults_by_settings[key]:
            message = f"{port.name} to {port.peer} {fault}"
            yield example(tree, router.device, router.ports_file, mark or port.qos_mark, message)


def usual_shares(fabric: RoutedFabric) -> Shares:
    """The queues of most cabled ports with their part of the bandwidth, STRICT for a strict queue."""
    votes = Counter(port.qos.shares for _, port in fabric.ports if port.peer)
    if not votes:
        return ()
    return max(votes.items(), key=lambda item: item[1])[0]


def share_faults(configured: Shares, expected: Shares, source: str) -> Iterator[tuple[int, str]]:
    """Queues with another share of the bandwidth than expected by ``source``, with the message."""
    configured_shares, expected_shares = _normal(configured), _normal(expected)
    for queue in sorted(configured_shares.keys() | expected_shares.keys()):
        share, expected_share = configured_shares.get(queue), expected_shares.get(queue)
        if not _is_same_share(share, expected_share):
            yield queue, f"gives queue {queue} {_share(share)}, {source} {_share(expected_share)}"


def _is_same_share(share: float | None, expected: float | None) -> bool:
    if share is None or expected is None:
        return False
    if (share == STRICT) != (expected == STRICT):
        return False
    return abs(share - expected) <= _ROUNDING


def _faults(port: Port, lossless: frozenset[int], usual: Shares, planned_m: float) -> Iterator[str]:
    qos = port.qos
    if not qos.classifies:
        yield "does not sort packets by the map of DSCPs"
    if qos.lossless != lossless:
        yield f"pauses {priorities(qos.lossless)}, the class needs {priorities(lossless)} at both ends"
    elif lossless and qos.watchdog is None:
        yield "has no watchdog: a NIC that pauses for ever would stop all traffic behind it"
    yield from (message for _, message in share_faults(qos.shares, usual, "most ports"))
    if lossless and qos.cable_m is not None and qos.cable_m < planned_m:
        yield f"sizes its headroom for {qos.cable_m:g} m of cable, the spec states {planned_m:g} m"
    if qos.headroom_bytes is not None and port.speed_gbps:
        least = _least_headroom_bytes(port.speed_gbps, max(qos.cable_m or 0, planned_m), port.mtu_bytes)
        if qos.headroom_bytes < least:
            yield f"has {qos.headroom_bytes:,} bytes of headroom, at least {least:,} arrive after a pause"


def _least_headroom_bytes(speed_gbps: float, cable_m: float, mtu_bytes: int) -> int:
    flight_ns = 2 * _NS_PER_M * cable_m + _INTERFACES_NS + _RESPONSE_NS
    return int(2 * (mtu_bytes + _FRAME_OVERHEAD_BYTES) + _PAUSE_FRAME_BYTES + flight_ns * speed_gbps / 8)


def _normal(shares: Shares) -> dict[int, float]:
    """Queues with their share of the bandwidth left by strict ones."""
    total = sum(share for _, share in shares if share != STRICT) or 1.0
    normal = dict(shares)
    for queue, share in shares:
        if share != STRICT:
            normal[queue] = share / total
    return normal


def _share(share: float | None) -> str:
    if share is None:
        return "nothing of its own"
    if share == STRICT:
        return "all it asks for"
    return f"{share:.0%}"
