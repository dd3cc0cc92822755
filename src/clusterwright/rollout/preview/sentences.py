"""Changes of the model in words: sentences about devices, from the deployed plan and today's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from clusterwright.compare.changes import CableChanges, IsolationChanges
from clusterwright.compare.plans import compare_plans
from clusterwright.plan.model import Cable, Device, Plan
from clusterwright.spec.image import Image

_STATES = {"active": "comes back into service", "drained": "is drained", "out-of-service": "goes out of service"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One change: ``devices`` are those that it is about, none where it is about the cluster as a whole."""

    text: str
    devices: frozenset[str]


def sentences(before: Plan, after: Plan) -> tuple[Sentence, ...]:
    """Every change between two plans, permitted flows first."""
    changes = compare_plans(before, after)
    devices = changes.devices
    all_sentences = [*_isolation(changes.isolation)]
    all_sentences += _counted(after, "is new", "are new", devices.added)
    all_sentences += _counted(before, "goes away", "go away", devices.removed)
    if devices.renamed:
        text = "; ".join(f"{old} is now {new}" for old, new in list(devices.renamed.items())[:2])
        all_sentences.append(Sentence(f"{len(devices.renamed):,} renamed: {text}", frozenset(devices.renamed.values())))
    by_change: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in devices.changed:
        by_change[item.field, item.before, item.after].append(item.device)
    for (field, old, new), names in by_change.items():
        all_sentences.append(_field(after, field, old, new, names))
    for cables in changes.cables:
        all_sentences += _cables(before, after, cables)
    by_fabric = Counter(item.fabric for item in changes.addresses)
    for fabric, count in by_fabric.items():
        changed_ports = [item for item in changes.addresses if item.fabric == fabric]
        first = changed_ports[0]
        get = "gets" if count == 1 else "get"
        text = f"{_number(count, 'port')} of {fabric} {get} another address, as {first.device} {first.port}: "
        text += f"{first.before or 'none'} → {first.after or 'none'}"
        all_sentences.append(Sentence(text, frozenset(item.device for item in changed_ports)))
    all_sentences += _images(before, after)
    return tuple(all_sentences)


def place_of(plan: Plan, names: Iterable[str]) -> str:
    """Where devices are: ``pod 0 rack 1``, ``pod 0, 2 racks``, ``2 pods, 4 racks`` or ``above the pods``."""
    devices = [plan.by_name[name] for name in names if name in plan.by_name]
    pods = list(dict.fromkeys(device.pod for device in devices if device.pod))
    if not pods:
        return "above the pods" if any(group.parent for group in plan.groups) else "the cluster"
    racks = list(dict.fromkeys(name for device in devices if (name := _rack(plan, device))))
    above = ", and above the pods" if any(not device.pod for device in devices) else ""
    if len(pods) > 1:
        return f"{len(pods)} {_level(plan, pods[0])}s{f', {len(racks)} racks' if racks else ''}{above}"
    main = next((device.node_group for device in plan.devices if device.role == "node"), "")
    group = plan.group_by_name[pods[0]]
    pod = f"{group.level} {group.index}"
    if group.node_group != main:  # others are counted from 0 too
        pod = f"{group.node_group} {pod}"
    if len(racks) == 1:
        return (f"{pod} {_rack_phrase(plan, racks[0])}" if racks[0] != pods[0] else pod) + above
    return f"{pod}, {len(racks)} racks{above}" if racks else pod + above


def _rack(plan: Plan, device: Device) -> str:
    """The innermost group of a device where that is a rack."""
    inner = device.groups[0] if device.groups else ""
    return inner if inner and plan.group_by_name[inner].level == "rack" else ""


def _rack_phrase(plan: Plan, name: str) -> str:
    return f"{plan.group_by_name[name].level} {plan.group_by_name[name].index}"


def _level(plan: Plan, name: str) -> str:
    return plan.group_by_name[name].level


def _isolation(changes: IsolationChanges) -> Iterator[Sentence]:
    for cell in changes.access:
        cause = f" (flow {', '.join(cell.flows)})" if cell.flows else ""
        word = "OPENS" if cell.opened else "closes"
        yield Sentence(f"{word} {cell.source} → {cell.target}: {cell.traffic}{cause}", frozenset())
    for term in changes.terms:
        nothing = "never" if term.term == "expires" else "nobody"
        word = "LONGER: " if term.longer else ""
        text = f"{word}flow {term.flow}: {term.term} {term.before or nothing} → {term.after or nothing}"
        yield Sentence(text, frozenset())
    for item in changes.membership:
        yield Sentence(f"{item.owner} {item.what}{'' if item.added else ': no longer'}", frozenset())


def _counted(plan: Plan, one: str, many: str, devices: Iterable[Device]) -> Iterator[Sentence]:
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for device in devices:
        kinds[device.role, device.model].append(device.name)
    for (role, model), names in kinds.items():
        what = f"{names[0]} ({model}) {one}" if len(names) == 1 else f"{len(names):,} {role} ({model}) {many}"
        yield Sentence(f"{place_of(plan, names)}: {what}", frozenset(names))


def _field(plan: Plan, field: str, old: str, new: str, names: Sequence[str]) -> Sentence:
    who = names[0] if len(names) == 1 else f"{len(names):,} {_roles(plan, names)}"
    if field == "state" and new in _STATES:
        word = _STATES[new] if len(names) == 1 else _STATES[new].replace("is ", "are ").replace("es ", " ")
        return Sentence(f"{place_of(plan, names)}: {who} {word}", frozenset(names))
    return Sentence(f"{place_of(plan, names)}: {who}: {field} {old} → {new}", frozenset(names))


def _roles(plan: Plan, names: Iterable[str]) -> str:
    roles = dict.fromkeys(plan.by_name[name].role for name in names)
    return ", ".join("nodes" if role == "node" else role for role in roles)


def _cables(before: Plan, after: Plan, changes: CableChanges) -> Iterator[Sentence]:
    kinds: tuple[tuple[str, str, Plan, Sequence[Cable]], ...] = (
        ("takes a new", "take", after, changes.added),
        ("loses its", "lose", before, changes.removed),
        ("no longer uses its", "stop using", after, changes.stopped),
        ("uses again its", "use again", after, changes.started),
    )
    for one, many, plan, cables in kinds:
        by_tier: dict[tuple[str, str, str], list[Cable]] = defaultdict(list)
        for cable in cables:
            low, high = plan.by_name[cable.a.device], plan.by_name[cable.b.device]
            by_tier[low.role, high.role, cable.a.side].append(cable)
        for (role, upper, side), tier_cables in by_tier.items():
            yield _cable_phrase(plan, one, many, (role, upper, side, changes.fabric), tier_cables)
    if changes.moved:
        old, new = changes.moved[0].before, changes.moved[0].after
        several = len(changes.moved) > 1
        what = f"{len(changes.moved):,} cables are" if several else "a cable is"
        sign = ", as" if several else ":"
        text = f"{changes.fabric}: {what} plugged elsewhere{sign} {_between(old)} → {_between(new)}"
        former_ends, new_ends = (
            _ends(move.before for move in changes.moved),
            _ends(move.after for move in changes.moved),
        )
        yield Sentence(text, former_ends | new_ends)
    if changes.replaced:
        first = changes.replaced[0].after
        kind = f"{first.medium} at {first.speed_gbps} Gb/s"
        text = f"{changes.fabric}: {_number(len(changes.replaced), 'cable')} replaced by {kind}, as {_between(first)}"
        yield Sentence(text, _ends(pair.after for pair in changes.replaced))


def _cable_phrase(
    plan: Plan, one: str, many: str, kind: tuple[str, str, str, str], cables: Sequence[Cable]
) -> Sentence:
    role, upper, side, fabric = kind
    link = "uplink" if side == "up" else "link"
    lower = [cable.a.device for cable in cables]
    first = cables[0]
    ports = f"{first.a.port} – {first.b.port}"
    if len(cables) == 1:
        text = f"{first.a.device} {one} {link} to {first.b.device} ({ports})"
    elif len(set(lower)) == 1:
        plural = one.removesuffix(" a new") + f" {len(cables)} new" if "new" in one else f"{one} {len(cables)}"
        to = Counter(cable.b.device for cable in cables)
        ends = ", ".join(to) if len(to) <= 3 else f"{len(to)} {upper}"
        text = f"{lower[0]} {plural} {link}s to {ends} ({first.a.port} – {first.b.device} {first.b.port} first)"
    else:
        links_by_device = Counter(lower)
        counts = sorted(set(links_by_device.values()))
        count = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        links = f"{count} {link}{'' if count == '1' else 's'}"
        new = "new " if "new" in one else ""
        text = f"{len(links_by_device):,} {role} {many} {new}{links} each to {upper}, as {_between(first)}"
    return Sentence(f"{fabric}, {place_of(plan, lower)}: {text}", _ends(cables))


def _between(cable: Cable) -> str:
    return f"{cable.a.device} {cable.a.port} – {cable.b.device} {cable.b.port}"


def _ends(cables: Iterable[Cable]) -> frozenset[str]:
    devices: set[str] = set()
    for cable in cables:
        devices.update((cable.a.device, cable.b.device))
    return frozenset(devices)


def _images(before: Plan, after: Plan) -> Iterator[Sentence]:
    """Changes inside an image of both specs, for the nodes that keep it."""
    for new in after.spec.images:
        old = before.spec.image(new.name)
        nodes = [device.name for device in after.devices if device.image == new.name and device.kind == "node"]
        if old is None or not nodes:
            continue
        who = f"{_number(len(nodes), 'node')} of image {new.name}"
        for text in _image_phrases(old, new):
            yield Sentence(f"{who}: {text}", frozenset(nodes))


def _image_phrases(old: Image, new: Image) -> Iterator[str]:
    for field in fields(Image):
        was, now = getattr(old, field.name), getattr(new, field.name)
        if field.name == "path" or _plain(was) == _plain(now):
            continue
        name = field.name.replace("_", " ")
        if isinstance(now, Mapping):
            for key in sorted(was.keys() | now.keys()):
                if was.get(key) != now.get(key):
                    value = f"= {now[key]}" if key in now else "is no longer set"
                    yield f"{name} {key} {value}{f' (was {was[key]})' if key in was and key in now else ''}"
        elif isinstance(now, tuple):
            former, present = _names(was), _names(now)
            yield from (f"{name} + {member}" for member in present if member not in former)
            yield from (f"{name} - {member}" for member in former if member not in present)
            if former == present:
                yield f"{name} changes"
        elif isinstance(now, str | int) or now is None:
            yield f"{name} {was if was is not None else 'none'} → {now if now is not None else 'none'}"
        else:
            yield f"{name} changes"


def _plain(value: Any) -> Any:
    """A value without the place in the spec that it came from."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if hasattr(value, "__dataclass_fields__"):
        return tuple(_plain(getattr(value, field.name)) for field in fields(value) if field.name != "path")
    return value


def _names(items: Iterable[Any]) -> list[str]:
    return [item if isinstance(item, str) else str(getattr(item, "name", item)) for item in items]


def _number(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
