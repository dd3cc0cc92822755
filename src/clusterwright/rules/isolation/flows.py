"""CW520 to CW526: flows that break a promise, have expired, or permit no traffic.

CW533: promises without anything in the spec to keep them. Each promise stands for checks that can fail. Those of flows,
mounts and keys are rules of their own; CW533 requires that they have something to check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CLEAR
from clusterwright.spec.isolation import INTERNET, OWNERS, Flow
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import can_meet, is_outside, lives_on, share_partition

Ranges = tuple[tuple[int, int], ...]
EVERY_PORT: Ranges = ((0, 65535),)


@rule("CW520", Severity.ERROR)
def internet_flow(subject: Subject) -> Iterator[Problem]:
    """Flows between an isolated zone and a zone of kind internet."""
    spec = subject.spec
    for flow in spec.flows:
        ends = [spec.zone(flow.source), spec.zone(flow.target)]
        for key, zone, other in (("to", ends[0], ends[1]), ("from", ends[1], ends[0])):
            if zone is not None and other is not None and zone.isolated and other.kind == INTERNET:
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
    made = next((item for item in spec.promises if item.promise == kind), None)
    says = {"no-internet": "Isolated zones have no flow with the internet.", "owner-only": "Only the owner may send."}
    return says[kind] if made is None else f"It breaks promise {made.name}: {made.says}"


@rule("CW522", Severity.WARNING)
def expired(subject: Subject) -> Iterator[Problem]:
    """Flows with a last day before the day of the check; none without a day."""
    for flow in subject.spec.flows:
        if subject.day is not None and flow.expires is not None and flow.expires < subject.day:
            days = (subject.day - flow.expires).days
            message = f"Flow {flow.name} was wanted until {flow.expires}, {days} {'day' if days == 1 else 'days'} ago."
            who = f"ask {flow.owner}" if flow.owner else "ask who needs it"
            yield Problem((*flow.path, "expires"), message, f"Remove it, or {who} for a new day.")


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
        ends = [("from", spec.zone(flow.source)), ("to", spec.zone(flow.target))]
        if any(zone is not None and zone.isolated for _, zone in ends) and any(
            zone is not None and zone.kind == INTERNET for _, zone in ends
        ):
            continue
        for key, zone in ends:
            named = zone is not None and all(spec.fabric(name) is not None for name in zone.fabrics)
            if zone is not None and named and not zone.prefixes and not lives_on(spec, zone):
                message = f"Zone {zone.name} of flow {flow.name} has no address on any network."
                yield Problem((*flow.path, key), message, "Give it nodes, their fabrics, or prefixes.")


@rule("CW525", Severity.WARNING)
def covered(subject: Subject) -> Iterator[Problem]:
    """Flows with ports already permitted by other flows of the same zones and protocol."""
    cells: dict[tuple[str, str], list[Flow]] = defaultdict(list)
    for flow in subject.spec.flows:
        cells[flow.source, flow.target].append(flow)
    for flows in cells.values():
        for index, flow in enumerate(flows):
            wider = next((o for i, o in enumerate(flows) if i != index and _within(flow, o, later=i < index)), None)
            if wider is not None:
                message = f"Flow {flow.name} allows nothing that {wider.name} does not."
                yield Problem((*flow.path, "name"), message, f"Take {flow.name} away, or narrow {wider.name}.")


def _within(flow: Flow, other: Flow, *, later: bool) -> bool:
    """True if ``other`` permits all of ``flow``. Of two equal flows, the ``later`` one is redundant."""
    if other.protocol not in (flow.protocol, "any"):
        return False
    mine, theirs = (flow.ports or EVERY_PORT), (other.ports or EVERY_PORT)
    if other.protocol != flow.protocol:
        return _inside(mine, theirs)
    return _inside(mine, theirs) and (later or not _inside(theirs, mine))


def _inside(ranges: Ranges, others: Ranges) -> bool:
    return all(any(low <= first and last <= high for low, high in others) for first, last in ranges)


@rule("CW526", Severity.ERROR)
def cannot_meet(subject: Subject) -> Iterator[Problem]:
    """Flows between zones with addresses but without a common network."""
    spec = subject.spec
    for flow in spec.flows:
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        if source is None or target is None:
            continue
        are_located = all(zone.prefixes or lives_on(spec, zone) for zone in (source, target))
        if are_located and not can_meet(spec, source, target) and not share_partition(spec, source.name, target.name):
            message = f"Flow {flow.name}: no network joins {source.name} with {target.name}."
            yield Problem((*flow.path, "to"), message, "Put both zones on one fabric, or name those that are meant.")


Lack = tuple[str, str]  # the missing part and the hint


@rule("CW533", Severity.ERROR)
def unkept(subject: Subject) -> Iterator[Problem]:
    """Promises with nothing in the spec to keep them."""
    spec = subject.spec
    for item in spec.promises:
        lack = GROUNDS[item.promise](spec)
        if lack is not None:
            missing, hint = lack
            yield Problem((*item.path, "promise"), f"Promise {item.name} ({item.promise}): {missing}", hint)


def _isolated(spec: ClusterSpec) -> Lack | None:
    inside = [zone for zone in spec.zones if zone.kind != INTERNET and not is_outside(spec, zone)]
    if not inside:
        return "no zone lies inside the cluster.", "Put node groups and fabrics into zones with `isolated: true`."
    opened = next((zone for zone in inside if not zone.isolated), None)
    if opened is None:
        return None
    return f"zone {opened.name} is not isolated.", f"Add `isolated: true` to {opened.name}."


def _owned(spec: ClusterSpec) -> Lack | None:
    sending = {flow.source for flow in spec.flows}
    if not any(zone.kind == "production" and zone.name in sending for zone in spec.zones):
        return "no flow begins in a zone of kind production.", "Say which networks are the owner's production."
    return _isolated(spec)


def _encrypted(spec: ClusterSpec) -> Lack | None:
    if not spec.mounts:
        return "there is no mount.", "Write down how storage is mounted, with its protection."
    clear = next((mount for mount in spec.mounts if mount.protection is None or mount.protection.kind == CLEAR), None)
    if clear is None:
        return None
    return f"{clear.mountpoint} is not protected.", "Add a `protection` that encrypts."


def _verified(spec: ClusterSpec) -> Lack | None:
    bare = next((group for group in spec.node_groups if group.role == "node" and group.image is None), None)
    if bare is None:
        return None
    return f"{bare.name} has no image, and so nothing that checks.", f"Give {bare.name} an `image`."


def _reviewed(spec: ClusterSpec) -> Lack | None:
    return None if spec.datasets else ("there is no dataset.", "Name the datasets, each with its review.")


def _deleted(spec: ClusterSpec) -> Lack | None:
    return None if spec.keys else ("there is no key schedule.", "Add `keys:` with rotation and deadline.")


GROUNDS: Mapping[str, Callable[[ClusterSpec], Lack | None]] = {
    "no-internet": _isolated,
    "owner-only": _owned,
    "encrypted-path": _encrypted,
    "verified-always": _verified,
    "reviewed-import": _reviewed,
    "keys-deleted": _deleted,
    "memory-only": _encrypted,
}
