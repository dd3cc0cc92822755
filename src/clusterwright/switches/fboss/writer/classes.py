"""FBOSS's part of lossless transport: QoS maps, queues, priority groups, buffer pools, hashing on the queue pair.

Field names and enum values are those of facebook/fboss, fboss/agent/switch_config.thrift.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.isolation import ROCE_PORT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clusterwright.intent.hashing import TierHashing
    from clusterwright.intent.headroom import Pool
    from clusterwright.intent.traffic_classes import NumberedClass
    from clusterwright.spec.ethernet import PfcWatchdog

SYSTEM = "fboss"
UNICAST, MULTICAST = 0, 1
WEIGHTED_ROUND_ROBIN, STRICT_PRIORITY = 0, 1
MARK = 1
KBYTE = 1000
# PacketRxReason.
RX_REASONS = {
    "ARP": 1,
    "DHCP": 2,
    "TTL_1": 6,
    "CPU_IS_NHOP": 7,
    "NDP": 8,
    "LLDP": 9,
    "ARP_RESPONSE": 10,
    "BGP": 11,
    "BGPV6": 12,
    "LACP": 13,
    "L3_MTU_ERROR": 14,
    "DHCPV6": 17,
}
LOW, MID, HIGH = 0, 2, 9
CPU_QUEUES = {
    "ARP": HIGH,
    "ARP_RESPONSE": HIGH,
    "NDP": HIGH,
    "BGP": HIGH,
    "BGPV6": HIGH,
    "CPU_IS_NHOP": MID,
    "LACP": HIGH,
    "TTL_1": LOW,
    "L3_MTU_ERROR": LOW,
    "LLDP": MID,
    "DHCP": MID,
    "DHCPV6": MID,
}
# kCoppLowPriPktsPerSec in fboss/agent/test/utils/CoppTestUtils.h.
LOW_QUEUE_PACKETS_PER_S = 100
SCALING_FACTOR_ONE = 0
WATCHDOG_NO_DROP = 0
ECMP, AGGREGATE_PORT = 1, 2
CRC16_CCITT = 1
HASHING_ALGORITHMS = {"CRC16_CCITT": CRC16_CCITT, "CRC32_LO": 3, "CRC32_HI": 4, "CRC": 9}
UDF_L4_HEADER = 3
UDF_HASH = 0
UDF_L4_UDP = 2

POOL = "lossless"
PG_CONFIGS = {"down": "downlinks", "up": "uplinks"}
# The destination queue pair: 8 bytes of UDP header and 5 of the base transport header lie before its 3 bytes.
QUEUE_PAIR_OFFSET_BYTES = 13
QUEUE_PAIR_BYTES = 3


# Reserved cells of a priority group, and the cells below the threshold at which it resumes:
# fboss/agent/hw/test/dataplane_tests/HwTestPfcUtils.cpp, for Tomahawk 3 and 4. Meta's own values are unpublished.
MINIMUM_CELLS, RESUME_CELLS = 19, 19


def qos_policy(name: str, classes: Sequence[NumberedClass]) -> dict[str, Any]:
    """A QosPolicy: DSCP to traffic class, class to queue and priority group, PFC priority to group and queue."""
    groups = {str(item.number): item.number for item in classes}
    queues = {str(item.number): item.entry.queue for item in classes}
    lossless = {str(item.number): item.number for item in classes if item.is_lossless}
    qos_map: dict[str, Any] = {
        "dscpMaps": [_dscp_map(item) for item in classes],
        "expMaps": [],
        "trafficClassToQueueId": queues,
    }
    if lossless:
        qos_map["pfcPriorityToQueueId"] = {number: queues[number] for number in lossless}
        qos_map["trafficClassToPgId"] = groups
        qos_map["pfcPriorityToPgId"] = lossless
    return {"name": name, "rules": [], "qosMap": qos_map}


def _dscp_map(item: NumberedClass) -> dict[str, Any]:
    return {"internalTrafficClass": item.number, "fromDscpToTrafficClass": list(item.dscp)}


def port_queues(classes: Sequence[NumberedClass]) -> list[dict[str, Any]]:
    """The unicast queues: strict, or weighted as in the spec; marking ones with their thresholds.

    Every queue counts marked packets, so classes with counters alone need no field.
    """
    return [_port_queue(item) for item in sorted(classes, key=lambda item: item.entry.queue)]


def _port_queue(item: NumberedClass) -> dict[str, Any]:
    entry = item.entry
    queue: dict[str, Any] = {"id": entry.queue, "streamType": UNICAST}
    if entry.strict:
        queue["scheduling"] = STRICT_PRIORITY
    else:
        queue |= {"weight": entry.weight, "scheduling": WEIGHTED_ROUND_ROBIN}
    queue["name"] = f"queue{entry.queue}.{entry.name}"
    if entry.marking is not None:
        thresholds = {
            "minimumLength": entry.marking.min_kbytes * KBYTE,
            "maximumLength": entry.marking.max_kbytes * KBYTE,
            "probability": entry.marking.percent,
        }
        queue["aqms"] = [{"detection": {"linear": thresholds}, "behavior": MARK}]
    return queue


def port_pfc(side: str, watchdog: PfcWatchdog) -> dict[str, Any]:
    """A port's PortPfc: both directions, and a watchdog that ignores pauses for a while rather than drop."""
    return {
        "tx": True,
        "rx": True,
        "portPgConfigName": PG_CONFIGS[side],
        "watchdog": {
            "detectionTimeMsecs": watchdog.detection_ms,
            "recoveryTimeMsecs": watchdog.recovery_ms,
            "recoveryAction": WATCHDOG_NO_DROP,
        },
    }


def priority_groups(
    classes: Sequence[NumberedClass], cell_bytes: int, headroom_cells: Mapping[str, int]
) -> dict[str, list[dict[str, Any]]]:
    """The portPgConfigs of the sides (``down``, ``up``) in ``headroom_cells``, for their different cables."""
    configs: dict[str, list[dict[str, Any]]] = {}
    for side, cells in headroom_cells.items():
        headroom_bytes = cells * cell_bytes
        configs[PG_CONFIGS[side]] = [_priority_group(item, cell_bytes, headroom_bytes) for item in classes]
    return configs


def _priority_group(item: NumberedClass, cell_bytes: int, headroom_bytes: int) -> dict[str, Any]:
    return {
        "id": item.number,
        "name": item.entry.name,
        "scalingFactor": SCALING_FACTOR_ONE,
        "minLimitBytes": MINIMUM_CELLS * cell_bytes,
        "headroomLimitBytes": headroom_bytes if item.is_lossless else 0,
        "resumeOffsetBytes": RESUME_CELLS * cell_bytes,
        "bufferPoolName": POOL,
    }


def buffer_pools(pool: Pool, cell_bytes: int) -> dict[str, dict[str, int]]:
    """The shared pool and its headroom, in bytes."""
    sizes = {"sharedBytes": pool.shared_cells * cell_bytes, "headroomBytes": pool.headroom_cells * cell_bytes}
    return {POOL: sizes}


def load_balancers(hashing: TierHashing) -> list[dict[str, Any]]:
    """Hashing over addresses and ports, for equal paths with the function and the fields of the switch's tier."""
    fields: dict[str, Any] = {"ipv4Fields": [1, 2], "ipv6Fields": [1, 2], "transportFields": [1, 2], "mplsFields": []}
    udf_groups = ["dstQueuePair"] if hashing.queue_pairs else []
    ecmp = {"id": ECMP, "fieldSelection": fields | {"udfGroups": udf_groups}, "algorithm": CRC16_CCITT}
    if hashing.function is not None:
        ecmp |= {"algorithm": HASHING_ALGORITHMS[hashing.function.name], "seed": hashing.function.seed}
    aggregate = {"id": AGGREGATE_PORT, "fieldSelection": fields | {"udfGroups": []}, "algorithm": CRC16_CCITT}
    return [ecmp, aggregate]


def queue_pair_udf() -> dict[str, Any]:
    """The udfConfig for RoCE's destination queue pair in UDP (fboss/agent/test/utils/UdfTestUtils.cpp)."""
    return {
        "udfGroups": {
            "dstQueuePair": {
                "name": "dstQueuePair",
                "header": UDF_L4_HEADER,
                "startOffsetInBytes": QUEUE_PAIR_OFFSET_BYTES,
                "fieldSizeInBytes": QUEUE_PAIR_BYTES,
                "udfPacketMatcherIds": ["l4UdpRoce"],
                "type": UDF_HASH,
            }
        },
        "udfPacketMatcher": {
            "l4UdpRoce": {
                "name": "l4UdpRoce",
                "l2PktType": 0,
                "l3pktType": 0,
                "l4PktType": UDF_L4_UDP,
                "UdfL4DstPort": ROCE_PORT,
            }
        },
    }


def cpu_queues() -> list[dict[str, Any]]:
    """Queues towards the switch's own processor (CoppTestUtils.cpp); a Broadcom CPU port is a multicast one.

    Traffic any host can cause the processor to answer, expired and oversized packets, goes to the lowest, limited
    queue.
    """
    low = _cpu_queue(LOW, "low", weight=1)
    low["portQueueRate"] = {"pktsPerSec": {"minimum": 0, "maximum": LOW_QUEUE_PACKETS_PER_S}}
    return [low, _cpu_queue(MID, "mid", weight=2), _cpu_queue(HIGH, "high", weight=4)]


def _cpu_queue(queue: int, name: str, *, weight: int) -> dict[str, Any]:
    return {
        "id": queue,
        "streamType": MULTICAST,
        "weight": weight,
        "scheduling": WEIGHTED_ROUND_ROBIN,
        "name": f"cpuQueue-{name}",
    }


def cpu_traps(purposes: Collection[str]) -> list[dict[str, int]]:
    """Queue of the processor by kind of packets: neighbour discovery and BGP before all others.

    SAI traps no unlisted reason (SaiHostifManager.cpp). DHCP of hosts is listed if the agent relays it, in the queue of
    Meta's own configurations (fboss/agent/test/utils/CoppTestUtils.cpp).
    """
    system = systems()[SYSTEM]
    needed_by_purposes: set[str] = set()
    for purpose in purposes:
        needed_by_purposes.update(system.configured_for(purpose))
    traps = []
    for name, queue in CPU_QUEUES.items():
        is_always_needed = not system.service(name)
        if is_always_needed or name in needed_by_purposes:
            traps.append({"rxReason": RX_REASONS[name], "queueId": queue})
    return traps
