"""Changes of the model in words: sentences about the differences of the deployed plan and the present one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

from clusterwright.compare.changes import AddressChange, CableChanges, FieldChange, IsolationChanges
from clusterwright.compare.plans import compare_plans
from clusterwright.plan.model import Cable, Device, Plan
from clusterwright.spec.image import Image

_STATES = {"active": "comes back into service", "drained": "is drained", "out-of-service": "goes out of service"}
_PLURAL_STATES = {"active": "come back into service", "drained": "are drained", "out-of-service": "go out of service"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One change of ``devices``; an empty set stands for the cluster as a whole."""

    text: str
    devices: frozenset[str]


def sentences(before: Plan, after: Plan) -> tuple[Sentence, ...]:
    """Changes between two plans, permitted flows first."""
    changes = compare_plans(before, after)
    return (
        *_isolation(changes.isolation),
        *_device_counts(after, changes.devices.added, singular="is new", plural="are new"),
        *_device_counts(before, changes.devices.removed, singular="goes away", plural="go away"),
        *_renamed(changes.devices.renamed),
        *_fields(after, changes.devices.changed),
        *chain.from_iterable(_cables(before, after, cables) for cables in changes.cables),
        *_addresses(changes.addresses),
        *_images(before, after),
    )


def place_of(plan: Plan, names: Iterable[str]) -> str:
    """Place of devices: ``pod 0 rack 1``, ``pod 0, 2 racks``, ``2 pods, 4 racks`` or ``above the pods``."""
    devices = [plan.by_name[name] for name in names if name in plan.by_name]
    pods = list(dict.fromkeys(device.pod for device in devices if device.pod))
    if not pods:
        return "above the pods" if any(group.parent for group in plan.groups) else "the cluster"
    place = _pods_phrase(plan, pods, _racks(plan, devices))
    if any(not device.pod for device in devices):
        return f"{place}, and above the pods"
    return place


def _pods_phrase(plan: Plan, pods: Sequence[str], racks: Sequence[str]) -> str:
    first_pod = plan.group_by_name[pods[0]]
    if len(pods) > 1:
        count = f"{len(pods)} {first_pod.level}s"
        return f"{count}, {len(racks)} racks" if racks else count
    pod = f"{first_pod.level} {first_pod.index}"
    if first_pod.node_group != _first_node_group(plan):  # pods of every node group are counted from 0
        pod = f"{first_pod.node_group} {pod}"
    if len(racks) > 1:
        return f"{pod}, {len(racks)} racks"
    if not racks or racks[0] == pods[0]:
        return pod
    rack = plan.group_by_name[racks[0]]
    return f"{pod} {rack.level} {rack.index}"


def _first_node_group(plan: Plan) -> str:
    for device in plan.devices:
        if device.role == "node":
            return device.node_group
    return ""


def _racks(plan: Plan, devices: Iterable[Device]) -> list[str]:
    """The innermost groups of devices, as far as these are racks."""
    racks: dict[str, None] = {}
    for device in devices:
        innermost_group = device.groups[0] if device.groups else ""
        if innermost_group and plan.group_by_name[innermost_group].level == "rack":
            racks[innermost_group] = None
    return list(racks)


def _isolation(changes: IsolationChanges) -> Iterator[Sentence]:
    for cell in changes.access:
        cause = f" (flow {', '.join(cell.flows)})" if cell.flows else ""
        verb = "OPENS" if cell.opened else "closes"
        yield Sentence(f"{verb} {cell.source} → {cell.target}: {cell.traffic}{cause}", frozenset())
    for term in changes.terms:
        unset = "never" if term.term == "expires" else "none"
        warning = "LONGER: " if term.longer else ""
        change = f"{term.term} {term.before or unset} → {term.after or unset}"
        yield Sentence(f"{warning}flow {term.flow}: {change}", frozenset())
    for item in changes.membership:
        membership = f"{item.owner} {item.what}"
        yield Sentence(membership if item.added else f"{membership}: no longer", frozenset())


def _device_counts(plan: Plan, devices: Iterable[Device], *, singular: str, plural: str) -> Iterator[Sentence]:
    names_by_kind: dict[tuple[str, str], list[str]] = defaultdict(list)
    for device in devices:
        names_by_kind[device.role, device.model].append(device.name)
    for (role, model), names in names_by_kind.items():
        is_single = len(names) == 1
        subject = names[0] if is_single else f"{len(names):,} {role}"
        verb = singular if is_single else plural
        yield Sentence(f"{place_of(plan, names)}: {subject} ({model}) {verb}", frozenset(names))


def _renamed(new_names: Mapping[str, str]) -> Iterator[Sentence]:
    if new_names:
        examples = "; ".join(f"{old} is now {new}" for old, new in list(new_names.items())[:2])
        yield Sentence(f"{len(new_names):,} renamed: {examples}", frozenset(new_names.values()))


def _fields(plan: Plan, changes: Iterable[FieldChange]) -> Iterator[Sentence]:
    devices_by_change: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for change in changes:
        devices_by_change[change.field, change.before, change.after].append(change.device)
    for (field, old, new), names in devices_by_change.items():
        yield _field(plan, field, old, new, names)


def _field(plan: Plan, field: str, old: str, new: str, names: Sequence[str]) -> Sentence:
    is_single = len(names) == 1
    subject = names[0] if is_single else f"{len(names):,} {_roles(plan, names)}"
    states = _STATES if is_single else _PLURAL_STATES
    change = f": {field} {old} → {new}"
    if field == "state" and new in states:
        change = f" {states[new]}"
    return Sentence(f"{place_of(plan, names)}: {subject}{change}", frozenset(names))


def _addresses(changes: Iterable[AddressChange]) -> Iterator[Sentence]:
    changes_by_fabric: dict[str, list[AddressChange]] = defaultdict(list)
    for change in changes:
        changes_by_fabric[change.fabric].append(change)
    for fabric, ports in changes_by_fabric.items():
        first = ports[0]
        verb = "gets" if len(ports) == 1 else "get"
        example = f"{first.device} {first.port}: {first.before or 'none'} → {first.after or 'none'}"
        yield Sentence(
            f"{_number(len(ports), 'port')} of {fabric} {verb} another address, as {example}",
            frozenset(port.device for port in ports),
        )


def _roles(plan: Plan, names: Iterable[str]) -> str:
    roles = dict.fromkeys(plan.by_name[name].role for name in names)
    return ", ".join("nodes" if role == "node" else role for role in roles)


def _cables(before: Plan, after: Plan, changes: CableChanges) -> Iterator[Sentence]:
    for verb, plan, cables in (
        (_TAKE, after, changes.added),
        (_LOSE, before, changes.removed),
        (_STOP, after, changes.stopped),
        (_START, after, changes.started),
    ):
        cables_by_tier: dict[tuple[str, str, str], list[Cable]] = defaultdict(list)
        for cable in cables:
            lower, upper = plan.by_name[cable.a.device], plan.by_name[cable.b.device]
            cables_by_tier[lower.role, upper.role, cable.a.side].append(cable)
        for (lower_role, upper_role, side), tier_cables in cables_by_tier.items():
            link = "uplink" if side == "up" else "link"
            place = place_of(plan, [cable.a.device for cable in tier_cables])
            change = _links_phrase(verb, link, lower_role, upper_role, tier_cables)
            yield Sentence(f"{changes.fabric}, {place}: {change}", _ends(tier_cables))
    if changes.moved:
        example = f"{_between(changes.moved[0].before)} → {_between(changes.moved[0].after)}"
        if len(changes.moved) == 1:
            change = f"a cable is plugged elsewhere: {example}"
        else:
            change = f"{len(changes.moved):,} cables are plugged elsewhere, as {example}"
        former_ends = _ends(move.before for move in changes.moved)
        new_ends = _ends(move.after for move in changes.moved)
        yield Sentence(f"{changes.fabric}: {change}", former_ends | new_ends)
    if changes.replaced:
        first = changes.replaced[0].after
        cable_type = f"{first.medium} at {first.speed_gbps} Gb/s"
        change = f"{_number(len(changes.replaced), 'cable')} replaced by {cable_type}, as {_between(first)}"
        yield Sentence(f"{changes.fabric}: {change}", _ends(pair.after for pair in changes.replaced))


@dataclass(frozen=True, slots=True)
class _LinkVerb:
    """A change of links as a verb with its article: for one link, for several of one device, and of several devices."""

    one_link: str
    several_links: str
    """With ``{count}``, the number of links."""
    several_devices: str
    """With ``{links}``, the number and name of the links of each device."""


_TAKE = _LinkVerb("takes a new", "takes {count} new", "take new {links}")
_LOSE = _LinkVerb("loses its", "loses its {count}", "lose {links}")
_STOP = _LinkVerb("no longer uses its", "no longer uses its {count}", "stop using {links}")
_START = _LinkVerb("uses again its", "uses again its {count}", "use again {links}")


def _links_phrase(verb: _LinkVerb, link: str, lower_role: str, upper_role: str, cables: Sequence[Cable]) -> str:
    first = cables[0]
    if len(cables) == 1:
        ports = f"{first.a.port} – {first.b.port}"
        return f"{first.a.device} {verb.one_link} {link} to {first.b.device} ({ports})"
    links_by_device = Counter(cable.a.device for cable in cables)
    if len(links_by_device) == 1:
        upper_names = list(dict.fromkeys(cable.b.device for cable in cables))
        uppers = ", ".join(upper_names) if len(upper_names) <= 3 else f"{len(upper_names)} {upper_role}"
        links = f"{verb.several_links.format(count=len(cables))} {link}s"
        return f"{first.a.device} {links} to {uppers} ({first.a.port} – {first.b.device} {first.b.port} first)"
    links = _link_count(links_by_device.values(), link)
    change = f"{len(links_by_device):,} {lower_role} {verb.several_devices.format(links=links)}"
    return f"{change} each to {upper_role}, as {_between(first)}"


def _link_count(counts: Collection[int], link: str) -> str:
    """``1 uplink``, ``2 uplinks`` or ``2 to 4 uplinks``."""
    least, most = min(counts), max(counts)
    if least != most:
        return f"{least} to {most} {link}s"
    return f"{least} {link}" if least == 1 else f"{least} {link}s"


def _between(cable: Cable) -> str:
    return f"{cable.a.device} {cable.a.port} – {cable.b.device} {cable.b.port}"


def _ends(cables: Iterable[Cable]) -> frozenset[str]:
    devices: set[str] = set()
    for cable in cables:
        devices.update((cable.a.device, cable.b.device))
    return frozenset(devices)


def _images(before: Plan, after: Plan) -> Iterator[Sentence]:
    """Changes inside an image of both specs, for its nodes."""
    for new in after.spec.images:
        old = before.spec.image(new.name)
        nodes = [device.name for device in after.devices if device.image == new.name and device.kind == "node"]
        if old is None or not nodes:
            continue
        subject = f"{_number(len(nodes), 'node')} of image {new.name}"
        for phrase in _image_phrases(old, new):
            yield Sentence(f"{subject}: {phrase}", frozenset(nodes))


def _image_phrases(old_image: Image, new_image: Image) -> Iterator[str]:
    for field in fields(Image):
        old, new = getattr(old_image, field.name), getattr(new_image, field.name)
        if field.name == "path" or _without_paths(old) == _without_paths(new):
            continue
        name = field.name.replace("_", " ")
        if isinstance(new, Mapping):
            for phrase in _mapping_phrases(old, new):
                yield f"{name} {phrase}"
        elif isinstance(new, tuple):
            for phrase in _member_phrases(old, new):
                yield f"{name} {phrase}"
        elif isinstance(new, str | int) or new is None:
            yield f"{name} {_or_none(old)} → {_or_none(new)}"
        else:
            yield f"{name} changes"


def _mapping_phrases(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(old.keys() | new.keys()):
        if key not in new:
            yield f"{key} is no longer set"
        elif key not in old:
            yield f"{key} = {new[key]}"
        elif old[key] != new[key]:
            yield f"{key} = {new[key]} (was {old[key]})"


def _member_phrases(old: Iterable[Any], new: Iterable[Any]) -> Iterator[str]:
    old_names, new_names = _names(old), _names(new)
    for name in new_names:
        if name not in old_names:
            yield f"+ {name}"
    for name in old_names:
        if name not in new_names:
            yield f"- {name}"
    if old_names == new_names:
        yield "changes"


def _without_paths(value: Any) -> Any:
    """A value without its place in the spec."""
    if isinstance(value, tuple):
        return tuple(_without_paths(item) for item in value)
    if hasattr(value, "__dataclass_fields__"):
        return tuple(_without_paths(getattr(value, field.name)) for field in fields(value) if field.name != "path")
    return value


def _names(items: Iterable[Any]) -> list[str]:
    return [item if isinstance(item, str) else str(getattr(item, "name", item)) for item in items]


def _or_none(value: str | int | None) -> str:
    return "none" if value is None else str(value)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
