"""Traffic classes and their numbers: one numbering for switches of every system, NICs, checks and NCCL.

A class has one number, and every device uses it for its own numbering of classes: the traffic class and the priority
group of a switch, the priority of a NIC. Pauses name a priority, so a lossless class has its PFC priority as its
number; a lossy one has its queue's, or the lowest free one. Queues are as the spec sets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.fabric import Fabric, TrafficClass
    from clusterwright.spec.job import NcclProfile
    from clusterwright.spec.model import ClusterSpec

NUMBERS = 8
DSCPS = 64
_ECN_BITS = 2  # below the DSCP in the traffic class byte


@dataclass(frozen=True, slots=True)
class NumberedClass:
    """A class of service with its ``number`` and all its DSCPs, named by the spec or not."""

    number: int
    dscp: tuple[int, ...]
    entry: TrafficClass

    @property
    def is_lossless(self) -> bool:
        """True when the class is paused rather than dropped."""
        return self.entry.priority is not None


def default_class(fabric: Fabric) -> TrafficClass | None:
    """The class of all unnamed DSCPs: the lossy one without any, else the lossy one in the lowest queue.

    None without a lossy class: then each system treats these DSCPs in its own way, and may pause them (CW430).
    """
    lossy = [entry for entry in fabric.classes if entry.priority is None]
    return min(lossy, key=lambda entry: (bool(entry.dscp), entry.queue), default=None)


def traffic_classes(fabric: Fabric) -> tuple[NumberedClass, ...]:
    """The classes of an Ethernet fabric, by number. Raises ClusterwrightError for indistinguishable classes."""
    numbers: dict[int, TrafficClass] = {}
    queues: set[int] = set()
    for entry in fabric.classes:
        if entry.queue in queues or (entry.priority is not None and entry.priority in numbers):
            raise ClusterwrightError(
                f"Class {entry.name} of {fabric.name} shares its queue or its priority with another class (CW402), so "
                "no device can tell the two apart. Give each class its own."
            )
        queues.add(entry.queue)
        if entry.priority is not None:
            numbers[entry.priority] = entry
    moved: list[TrafficClass] = []
    lossy = [entry for entry in fabric.classes if entry.priority is None]
    lossless = dict(numbers)
    for entry in lossy:
        if entry.queue in lossless:
            moved.append(entry)
        else:
            numbers[entry.queue] = entry
    free_numbers = [number for number in range(NUMBERS) if number not in numbers]
    numbers |= dict(zip(free_numbers, moved, strict=False))
    named_dscps = set(chain.from_iterable(entry.dscp for entry in fabric.classes))
    unnamed_dscps = [dscp for dscp in range(DSCPS) if dscp not in named_dscps]
    default = default_class(fabric)
    classes = []
    for number, entry in sorted(numbers.items(), key=itemgetter(0)):
        dscps = [*entry.dscp, *unnamed_dscps] if entry is default else entry.dscp
        classes.append(NumberedClass(number=number, dscp=tuple(sorted(dscps)), entry=entry))
    return tuple(classes)


def class_numbers(fabric: Fabric) -> tuple[int | None, ...]:
    """For each of the 64 DSCPs the number of its class, None for DSCPs without one.

    Raises ClusterwrightError as ``traffic_classes`` does.
    """
    by_dscp: dict[int, int] = {}
    for item in traffic_classes(fabric):
        by_dscp |= dict.fromkeys(item.dscp, item.number)
    return tuple(by_dscp.get(dscp) for dscp in range(DSCPS))


def lossless_numbers(fabric: Fabric) -> tuple[int, ...]:
    """The PFC priorities of an Ethernet fabric, in order."""
    return tuple(sorted({entry.priority for entry in fabric.classes if entry.priority is not None}))


def marked_numbers(fabric: Fabric) -> tuple[int, ...]:
    """The PFC priorities with ECN marks, so that senders slow down (DCQCN)."""
    marking_classes = [entry for entry in fabric.classes if entry.ecn == "mark"]
    return tuple(sorted(entry.priority for entry in marking_classes if entry.priority is not None))


def _profiles_on(plan: Plan, fabric: Fabric, node_group: str) -> tuple[NcclProfile, ...]:
    """The NCCL profile of a node group with data on this fabric; without one, all profiles with data on it."""
    own_profile = plan.spec.nccl(node_group)
    if own_profile is not None and own_profile.fabric == fabric.name:
        return (own_profile,)
    return tuple(profile for profile in plan.spec.nccl_profiles if profile.fabric == fabric.name)


def data_class_of(plan: Plan, fabric: Fabric, node_group: str) -> TrafficClass | None:
    """The class of a node group's data: the choice of its NCCL profile, or the common one of all profiles.

    Without agreement between the fabric's profiles, the first lossless class.
    """
    names = {profile.data_class for profile in _profiles_on(plan, fabric, node_group)} - {None}
    if len(names) == 1:
        candidates = [traffic_class for traffic_class in fabric.classes if traffic_class.name in names]
    else:
        candidates = [traffic_class for traffic_class in fabric.classes if traffic_class.priority is not None]
    return candidates[0] if candidates else None


def has_several_classes(plan: Plan, fabric: Fabric, node_group: str) -> bool:
    """Whether NCCL separates data and control messages on a fabric, so that no adapter may force one class."""
    return any(profile.control_dscp is not None for profile in _profiles_on(plan, fabric, node_group))


def data_levels(spec: ClusterSpec, fabric: Fabric) -> tuple[int, ...]:
    """The service levels of NCCL profiles' data on an InfiniBand fabric, in their order."""
    level_of_class = {traffic_class.name: traffic_class.service_level for traffic_class in fabric.classes}
    levels: dict[int, None] = {}
    for profile in spec.nccl_profiles:
        if profile.fabric != fabric.name:
            continue
        level = profile.service_level
        if level is None:
            level = level_of_class.get(profile.data_class or "")
        levels[level or 0] = None
    return tuple(levels)


def traffic_class_byte(dscp: int) -> int:
    """The traffic class byte of a DSCP, with the ECN bits clear: not ECN-capable, as DCQCN is off."""
    return dscp << _ECN_BITS
