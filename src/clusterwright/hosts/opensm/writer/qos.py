"""Service levels, lanes and their shares, in the words of opensm.conf."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.fabric import Fabric, TrafficClass

SERVICE_LEVELS = 16
# Switches have one, two, four or eight data lanes; PortInfo counts them in powers of two.
LANE_COUNTS = (1, 2, 4, 8)
# Blocks of 4 KiB that the high table sends before the low one gets a turn (InfiniBand Architecture, volume 1, 7.6.9).
HIGH_LIMIT = 4
UNLIMITED = 255


@dataclass(frozen=True, slots=True)
class QosView:
    """QoS options: the lane of each level, and the two arbitration tables as ``lane:weight`` lists."""

    lanes: int
    high_limit: int
    high: str
    low: str
    lane_of_level: str


def qos_view(fabric: Fabric) -> QosView | None:
    """The QoS options of a fabric with classes, None without. Levels without a class share the lane of level 0."""
    classes = [item for item in fabric.classes if item.service_level is not None]
    if not classes:
        return None
    lane_of = {item.service_level: item.queue for item in classes}
    rest = lane_of.get(0, classes[0].queue)
    highest_lane = max(item.queue for item in classes)
    has_low_table = any(item.arbitration == "low" for item in classes)
    return QosView(
        lanes=next(count for count in LANE_COUNTS if count > highest_lane),
        high_limit=HIGH_LIMIT if has_low_table else UNLIMITED,
        high=_table(classes, "high"),
        low=_table(classes, "low"),
        lane_of_level=",".join(str(lane_of.get(level, rest)) for level in range(SERVICE_LEVELS)),
    )


def _table(classes: list[TrafficClass], name: str) -> str:
    """One arbitration table. A lane outside it has weight 0 there: opensm fills in missing ones."""
    lanes = {}
    for item in classes:
        lanes[item.queue] = item.weight if item.arbitration == name else 0
    return ",".join(f"{lane}:{weight}" for lane, weight in sorted(lanes.items()))
