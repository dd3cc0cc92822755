"""CW533: promises that nothing in the spec keeps.

Each promise stands for checks that can fail. Those of the flows, mounts and keys are rules of their own; what is left
here is that there is something for them to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CLEAR
from clusterwright.spec.isolation import INTERNET
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import is_outside

Lack = tuple[str, str]  # what is missing, what to do


@rule("CW533", Severity.ERROR)
def unkept(subject: Subject) -> Iterator[Problem]:
    """Promises whose ground is missing in the spec."""
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
