"""CW520 to CW526: flows that break a promise, have expired, or permit no traffic.

CW533: promises without anything in the spec to keep them. Each promise stands for checks that can fail. Those of flows,
mounts and keys are rules of their own; CW533 requires that they have something to check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CLEAR
from clusterwright.spec.isolation import INTERNET, OWNERS, Flow, Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import can_meet, is_outside, lives_on, share_partition

Ranges = tuple[tuple[int, int], ...]
EVERY_PORT: Ranges = ((0, 65535),)
_GENERAL_PROMISES = {
    "no-internet": "Isolated zones have no flow with the internet.",
    "owner-only": "Only the owner may send.",
}


@rule("CW520", Severity.ERROR)
def internet_flow(subject: Subject) -> Iterator[Problem]:
    """Flows between an isolated zone and a zone of kind internet."""
    spec = subject.spec
    for flow in spec.flows:
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        if source is None or target is None:
            continue
        for key, zone, other in (("to", source, target), ("from", target, source)):
            if zone.isolated and other.kind == INTERNET:
                message = f"Flow {flow.name} joins the isolated zone {zone.name} with the internet ({other.name})."
                hint = f"{promised(spec, 'no-internet')} Remove the flow."
                yield Problem((*flow.path, key), message, hint)


@rule("CW521", Severity.ERROR)
def foreign_source(subject: Subject) -> Iterator[Problem]:
    """Flows into an isolated zone from an outside zone not owned by the cluster's owner."""
    spec = subject.spec
    for flow in spec.flows:
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        if source is None or target is None or not target.isolated or source.kind in (*OWNERS, INTERNET):
            continue
        if is_outside(spec, source):
            message = f"Flow {flow.name} lets {source.name}, which is outside and of kind {source.kind}, send into"
            hint = f"{promised(spec, 'owner-only')} Give {source.name} the kind of the owner's network that it is."
            yield Problem((*flow.path, "from"), f"{message} {target.name}.", hint)


def promised(spec: ClusterSpec, kind: str) -> str:
    """A sentence on the broken promise; a general one if the spec makes no promise of this kind."""
    for promise in spec.promises:
        if promise.promise == kind:
            return f"It breaks promise {promise.name}: {promise.says}"
    return _GENERAL_PROMISES[kind]


@rule("CW522", Severity.WARNING)
def expired(subject: Subject) -> Iterator[Problem]:
    """Flows with a last day before the day of the check; none without a day."""
    for flow in subject.spec.flows:
        if subject.day is None or flow.expires is None or flow.expires >= subject.day:
            continue
        days = (subject.day - flow.expires).days
        unit = "day" if days == 1 else "days"
        message = f"Flow {flow.name} had its last day on {flow.expires}, {days} {unit} ago."
        owner = flow.owner or "its users"
        yield Problem((*flow.path, "expires"), message, f"Remove it, or ask {owner} for a new date.")


@rule("CW523", Severity.WARNING)
def ownerless(subject: Subject) -> Iterator[Problem]:
    """Flows without an owner."""
    for flow in subject.spec.flows:
        if flow.owner is None:
            yield Problem((*flow.path, "name"), f"Flow {flow.name} has no owner.", "Add `owner: TEAM`.")


@rule("CW524", Severity.ERROR)
def empty_end(subject: Subject) -> Iterator[Problem]:
    """Flows from or to a zone without any address; flows with the internet are left to CW520."""
    spec = subject.spec
    for flow in spec.flows:
        if share_partition(spec, flow.source, flow.target):
            continue
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        zones = [zone for zone in (source, target) if zone is not None]
        is_isolated = any(zone.isolated for zone in zones)
        if is_isolated and any(zone.kind == INTERNET for zone in zones):
            continue
        for key, zone in (("from", source), ("to", target)):
            if zone is not None and _has_no_address(spec, zone):
                message = f"Zone {zone.name} of flow {flow.name} has no address on any network."
                yield Problem((*flow.path, key), message, "Give it nodes, their fabrics, or prefixes.")


def _has_no_address(spec: ClusterSpec, zone: Zone) -> bool:
    """True for a zone of known fabrics alone without an address on them."""
    are_fabrics_known = all(spec.fabric(name) is not None for name in zone.fabrics)
    return are_fabrics_known and not zone.prefixes and not lives_on(spec, zone)


@rule("CW525", Severity.WARNING)
def covered(subject: Subject) -> Iterator[Problem]:
    """Flows with ports already permitted by other flows of the same zones and protocol."""
    flows_by_zones: dict[tuple[str, str], list[Flow]] = defaultdict(list)
    for flow in subject.spec.flows:
        flows_by_zones[flow.source, flow.target].append(flow)
    for flows in flows_by_zones.values():
        for index, flow in enumerate(flows):
            wider = _wider_flow(flows, index)
            if wider is not None:
                message = f"Flow {flow.name} allows only traffic that {wider.name} allows too."
                yield Problem((*flow.path, "name"), message, f"Remove {flow.name}, or narrow {wider.name}.")


def _wider_flow(flows: Sequence[Flow], index: int) -> Flow | None:
    """The first flow permitting all of the one at ``index``."""
    for other_index, other in enumerate(flows):
        if other_index != index and _within(flows[index], other, later=other_index < index):
            return other
    return None


def _within(flow: Flow, other: Flow, *, later: bool) -> bool:
    """True if ``other`` permits all of ``flow``. Of two equal flows, the ``later`` one is redundant."""
    if other.protocol not in (flow.protocol, "any"):
        return False
    ports, other_ports = (flow.ports or EVERY_PORT), (other.ports or EVERY_PORT)
    if not _inside(ports, other_ports):
        return False
    are_equal = other.protocol == flow.protocol and _inside(other_ports, ports)
    return later or not are_equal


def _inside(ranges: Ranges, others: Ranges) -> bool:
    return all(_is_part(first, last, others) for first, last in ranges)


def _is_part(first: int, last: int, ranges: Ranges) -> bool:
    return any(low <= first and last <= high for low, high in ranges)


@rule("CW526", Severity.ERROR)
def cannot_meet(subject: Subject) -> Iterator[Problem]:
    """Flows between zones with addresses but without a common network."""
    spec = subject.spec
    for flow in spec.flows:
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        if source is None or target is None:
            continue
        have_addresses = all(zone.prefixes or lives_on(spec, zone) for zone in (source, target))
        if not have_addresses or can_meet(spec, source, target):
            continue
        if not share_partition(spec, source.name, target.name):
            message = f"Flow {flow.name}: no network connects {source.name} with {target.name}."
            yield Problem((*flow.path, "to"), message, "Put both zones on one fabric, or name the intended ones.")


class Lack(NamedTuple):
    """A missing part of the spec, as a sentence, and the hint."""

    missing: str
    hint: str


@rule("CW533", Severity.ERROR)
def unkept(subject: Subject) -> Iterator[Problem]:
    """Promises with nothing in the spec to keep them."""
    spec = subject.spec
    for promise in spec.promises:
        lack = GROUNDS[promise.promise](spec)
        if lack is not None:
            message = f"Promise {promise.name} ({promise.promise}): {lack.missing}"
            yield Problem((*promise.path, "promise"), message, lack.hint)


def _isolated(spec: ClusterSpec) -> Lack | None:
    inside = [zone for zone in spec.zones if zone.kind != INTERNET and not is_outside(spec, zone)]
    if not inside:
        hint = "Put node groups and fabrics into zones with `isolated: true`."
        return Lack("no zone lies inside the cluster.", hint)
    for zone in inside:
        if not zone.isolated:
            return Lack(f"zone {zone.name} is not isolated.", f"Add `isolated: true` to {zone.name}.")
    return None


def _owned(spec: ClusterSpec) -> Lack | None:
    sources = {flow.source for flow in spec.flows}
    if any(zone.kind == "production" and zone.name in sources for zone in spec.zones):
        return _isolated(spec)
    hint = "Add a flow from a zone of kind production."
    return Lack("no flow begins in a zone of kind production.", hint)


def _encrypted(spec: ClusterSpec) -> Lack | None:
    if not spec.mounts:
        return Lack("there is no mount.", "Add the mounts of the storage, with their protection.")
    for mount in spec.mounts:
        if mount.protection is None or mount.protection.kind == CLEAR:
            return Lack(f"{mount.mountpoint} is not protected.", "Add a `protection` that encrypts.")
    return None


def _verified(spec: ClusterSpec) -> Lack | None:
    for group in spec.node_groups:
        if group.role == "node" and group.image is None:
            missing = f"{group.name} has no image, so no checks run on it."
            return Lack(missing, f"Give {group.name} an `image`.")
    return None


def _reviewed(spec: ClusterSpec) -> Lack | None:
    if spec.datasets:
        return None
    return Lack("there is no dataset.", "Name the datasets, each with its review.")


def _deleted(spec: ClusterSpec) -> Lack | None:
    if spec.keys:
        return None
    return Lack("there is no key schedule.", "Add `keys:` with rotation and deadline.")


GROUNDS: Mapping[str, Callable[[ClusterSpec], Lack | None]] = {
    "no-internet": _isolated,
    "owner-only": _owned,
    "encrypted-path": _encrypted,
    "verified-always": _verified,
    "reviewed-import": _reviewed,
    "keys-deleted": _deleted,
    "memory-only": _encrypted,
}
