"""How many errors a healthy port may count while it is watched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor

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

# Each bit error at most spoils a symbol and the packet around it.
OF_BIT_ERRORS = ("SymbolErrorCounter", "PortRcvErrors")
# Credits keep InfiniBand from dropping, and links that are up stay up: a healthy port has no reason to count these.
NEVER = (
    "LinkErrorRecoveryCounter", "LinkDownedCounter", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors",
    "PortXmitDiscards", "PortXmitConstraintErrors", "PortRcvConstraintErrors", "VL15Dropped", "QP1Dropped",
)  # fmt: skip
# Marks of what happened elsewhere (a packet spoilt upstream, a multicast packet without takers, a receiver that was
# busy): ibqueryerrors calls them side effects, and they are told without a verdict.
SIDE_EFFECTS = ("PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitWait")


@dataclass(frozen=True, slots=True)
class CounterLimit:
    """The most that a counter may show after the watch; ``formula`` says why."""

    counter: str
    most: int
    formula: str


def counter_limits(speed_gbps: int, minutes: int) -> Mapping[str, CounterLimit]:
    """The limits of an InfiniBand port of ``speed_gbps`` that was watched for ``minutes``, by counter."""
    most, formula = bit_errors(speed_gbps, minutes)
    limits = [CounterLimit(name, most, formula) for name in OF_BIT_ERRORS]
    limits += [CounterLimit(name, 0, "flow control drops nothing, and a link stays up") for name in NEVER]
    return {limit.counter: limit for limit in limits}


def bit_errors(speed_gbps: int, minutes: int) -> tuple[int, str]:
    """The bit errors that a link in order makes at most in ``minutes``, and the formula."""
    ratio = CORRECTED_BER if speed_gbps >= FIRST_CORRECTED_GBPS else PLAIN_BER
    most = floor(speed_gbps * 1e9 * minutes * 60 * ratio)
    return most, f"{speed_gbps} Gb/s × {minutes} min × a bit error ratio of {ratio:g} ({_ORIGIN[ratio]}), rounded down"


def by_speed(speeds_gbps: Iterable[int], minutes: int) -> Mapping[int, Mapping[str, CounterLimit]]:
    """The limits for each of these speeds."""
    return {speed: counter_limits(speed, minutes) for speed in sorted(set(speeds_gbps))}
