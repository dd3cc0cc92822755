"""Ceilings of a link, a pair of NICs and a ring: computed from the link's rate and the headers on it.

A link's rate (200, 400 Gb/s) excludes line coding and forward error correction: 400G NDR and 400G Ethernet
signal 4 × 106.25 Gb/s, of which RS(544,514) and 256b/257b leave 425 × 514/544 × 256/257 = 400 Gb/s (IEEE 802.3,
clauses 91 and 119; InfiniBand HDR and NDR use the same codes). Only headers are still to be paid.

Also the number of errors on a healthy port in a period.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor

from clusterwright.spec.fabric import Fabric

# InfiniBand Architecture Specification, volume 1: local route header 8, base transport header 12, invariant CRC 4,
# variant CRC 2. Packets inside one subnet carry no global route header.
INFINIBAND_HEADER_BYTES = 8 + 12 + 4 + 2
# IEEE 802.3: preamble and delimiter 8, header 14, check sequence 4, gap 12; RFC 791 / 8200: IP 20 or 40; UDP 8;
# InfiniBand annex A17 (RoCE v2): base transport header 12, invariant CRC 4.
ETHERNET_BYTES = 8 + 14 + 4 + 12
ROCE_BYTES = 8 + 12 + 4
IP_BYTES = {4: 20, 6: 40}
# The first packet of an RDMA write also carries a 16-byte RETH; a path MTU must leave room for it.
RETH_BYTES = 16
RDMA_MTUS = (4096, 2048, 1024, 512, 256)  # bytes; InfiniBand Architecture Specification, volume 1, MTU field


@dataclass(frozen=True, slots=True)
class Payload:
    """The best payload rate of one link; ``formula`` shows its computation."""

    gbps: float
    mtu_bytes: int
    formula: str


def payload_rate(fabric: Fabric, speed_gbps: int, version: int) -> Payload:
    """The payload of full-size RDMA packets on a link of ``speed_gbps``; ``version`` is the IP version, 0 for none.

    Raises ValueError for a fabric MTU below the smallest RDMA packet.
    """
    if fabric.technology == "infiniband":
        overhead = INFINIBAND_HEADER_BYTES
        room = fabric.mtu
        parts = f"LRH 8 + BTH 12 + ICRC 4 + VCRC 2 = {overhead} bytes"
    else:
        overhead = ETHERNET_BYTES + IP_BYTES[version] + ROCE_BYTES
        room = fabric.mtu - IP_BYTES[version] - ROCE_BYTES - RETH_BYTES
        ip = IP_BYTES[version]
        parts = f"Ethernet {ETHERNET_BYTES} + IPv{version} {ip} + UDP, BTH, ICRC {ROCE_BYTES} = {overhead} bytes"
    fitting = [mtu for mtu in RDMA_MTUS if mtu <= room]
    if not fitting:
        raise ValueError(f"an MTU of {fabric.mtu} bytes on {fabric.name} has no room for an RDMA packet")
    mtu = fitting[0]
    rate = speed_gbps * mtu / (mtu + overhead)
    formula = f"{speed_gbps} Gb/s × {mtu} / ({mtu} + {overhead}); headers: {parts}"
    return Payload(rate, mtu, formula)


def ring_bus_gb_per_s(payload: Payload, rings: int) -> float:
    """The best bus bandwidth, in GB/s, of ``rings`` parallel rings, each over a NIC of its own in every node.

    In nccl-tests' words (doc/PERFORMANCE.md) the bus bandwidth of a ring all-reduce or all-gather is the rate at which
    each rank sends, so that it compares with the link.
    """
    return rings * payload.gbps / 8


# From 50 Gb/s a lane, that is HDR and NDR (four lanes a port), links carry forward error correction.
FIRST_CORRECTED_GBPS = 200
# NVIDIA, "Cabling Data Centers" (DGX SuperPOD), Mixing Widths and Rates: InfiniBand allows one bit error in 10^12 bits,
# and NVIDIA tests every cable to less than one in 10^15. That the latter measures what is left after correction is
# assumed here: no threshold for that is published.
CORRECTED_BER = 1e-15
PLAIN_BER = 1e-12
_ORIGIN = {
    CORRECTED_BER: "assumed: what NVIDIA tests its cables to",
    PLAIN_BER: "the most that the InfiniBand specification allows",
}

# A bit error corrupts at most one symbol and its packet.
OF_BIT_ERRORS = ("SymbolErrorCounter", "PortRcvErrors")
# With credit-based flow control InfiniBand drops nothing, and links stay up: these stay 0 on a healthy port.
NEVER = (
    "LinkErrorRecoveryCounter", "LinkDownedCounter", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors",
    "PortXmitDiscards", "PortXmitConstraintErrors", "PortRcvConstraintErrors", "VL15Dropped", "QP1Dropped",
)  # fmt: skip
# Effects of events elsewhere (a packet corrupted upstream, a multicast packet without receivers, a receiver that was
# busy): ibqueryerrors calls them side effects, and they are shown without a verdict.
SIDE_EFFECTS = ("PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitWait")


@dataclass(frozen=True, slots=True)
class CounterLimit:
    """The highest allowed count after the watch; ``formula`` shows its computation."""

    counter: str
    most: int
    formula: str


def counter_limits(speed_gbps: int, minutes: int) -> Mapping[str, CounterLimit]:
    """The limits of an InfiniBand port of ``speed_gbps`` over ``minutes``, by counter."""
    most, formula = bit_errors(speed_gbps, minutes)
    limits = [CounterLimit(name, most, formula) for name in OF_BIT_ERRORS]
    limits += [CounterLimit(name, 0, "flow control drops nothing, and a link stays up") for name in NEVER]
    return {limit.counter: limit for limit in limits}


def bit_errors(speed_gbps: int, minutes: int) -> tuple[int, str]:
    """The most bit errors on a healthy link in ``minutes``, and the formula."""
    ratio = CORRECTED_BER if speed_gbps >= FIRST_CORRECTED_GBPS else PLAIN_BER
    most = floor(speed_gbps * 1e9 * minutes * 60 * ratio)
    return most, f"{speed_gbps} Gb/s × {minutes} min × a bit error ratio of {ratio:g} ({_ORIGIN[ratio]}), rounded down"


def by_speed(speeds_gbps: Iterable[int], minutes: int) -> Mapping[int, Mapping[str, CounterLimit]]:
    """The limits for each of these speeds."""
    return {speed: counter_limits(speed, minutes) for speed in sorted(set(speeds_gbps))}
