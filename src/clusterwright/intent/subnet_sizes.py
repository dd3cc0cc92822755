"""How much a subnet manager does at once and how often, by the size of its fabric.

opensm's own defaults (3.3.23: four packets on the wire, a sweep every 10 s, no limit of the log) suit a hundred ports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Plan

# opensm waits so long for an answer (its default); UFM has so many packets on the wire (its REST reference).
TRANSACTION_TIMEOUT_MS = 200
LEAST_PACKETS = 8
MOST_PACKETS = 64
CHIPS_A_PACKET = 32
SHORTEST_SWEEP_S = 10
# A full sweep in which every port changed leaves some three log lines of 150 bytes for each; ten of them are kept.
LOG_BYTES_A_PORT = 3 * 150
SWEEPS_KEPT = 10
LEAST_LOG_MB = 64
# A standby takes over after this long without an answer from the master (UFM's values: 5 s, four times).
MASTER_POLL_MS = 5000
MASTER_POLLS = 4


@dataclass(frozen=True, slots=True)
class SubnetSizes:
    """Figures of opensm.conf for a fabric with ``chips`` switch chips and ``endpoints`` adapters."""

    chips: int
    endpoints: int
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS
    master_poll_ms: int = MASTER_POLL_MS
    master_polls: int = MASTER_POLLS

    @property
    def packets(self) -> int:
        """Management packets on the wire at once: one for every 32 chips, 8 to 64."""
        return min(MOST_PACKETS, max(LEAST_PACKETS, self.chips // CHIPS_A_PACKET))

    @property
    def sweep_interval_s(self) -> int:
        """Seconds between light sweeps: time to ask every chip, even if each answer takes the whole timeout.

        A light sweep reads the state of each switch once (osm_state_mgr.c), ``packets`` of them at a time.
        """
        worst = self.chips * self.transaction_timeout_ms / self.packets / 1000
        return max(SHORTEST_SWEEP_S, math.ceil(worst))

    @property
    def log_mb(self) -> int:
        """Largest size of the log: ten sweeps with a change of everything."""
        ports = 2 * self.endpoints + self.chips
        return max(LEAST_LOG_MB, math.ceil(ports * LOG_BYTES_A_PORT * SWEEPS_KEPT / 1_000_000))


@per_plan
def subnet_sizes(plan: Plan, subnet_name: str) -> SubnetSizes:
    """The sizes of one InfiniBand subnet of a plan."""
    switches = plan.ib_subnets[subnet_name].switches
    planned_switches = [device for device in plan.devices if device.name in switches and device.guid is not None]
    chips = sum(len(chips_of(plan, device)) for device in planned_switches)
    adapter_cables = (cable for cable in plan.cables if cable.a.guid is not None)
    endpoints = sum(cable.b.device in switches for cable in adapter_cables)
    return SubnetSizes(chips=chips, endpoints=endpoints)
