"""What devices have in common, told once: a group's image, with the names of those that take its files.

Nobody compares files to find them: a writer says what all devices of a kind have (``intent.device_kind``). A group is
the nodes of a node group, or the switches of a system. Its kinds of two and more devices have an image each. A device
that is alone of its kind, an exception, takes the image of most of its group, with own files in the place of those that
it has otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from clusterwright.intent.device_kind import Kind, NodeKind, device_kind
from clusterwright.intent.per_plan import per_plan
from clusterwright.output import renderers
from clusterwright.output.distinct_paths import require_distinct_paths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from clusterwright.artifact import Artifact
    from clusterwright.plan.model import Device, Plan

FOLDERS = NODES, SWITCHES = "image", "switch"
"""The folders of all images in a tree: those of nodes and those of switches."""
_path = attrgetter("path")


@dataclass(frozen=True, slots=True)
class GroupImage:
    """What the devices ``members`` have in common, in the plan's order: ``files`` by path, whose device is ``owner``.
    ``kind`` is that of most members.

    ``owner`` is ``image/<node group>`` or ``switch/<system>``; where a group has devices of several kinds, the smaller
    ones are called after their first device: ``image/<node group>.<node>``.
    """

    owner: str
    kind: Kind
    members: tuple[str, ...]
    files: tuple[Artifact, ...]


def group_images(plan: Plan, names: Iterable[str] | None = None) -> tuple[GroupImage, ...]:
    """The images of the devices ``names`` (None: of all), with those of their members that are among them."""
    require_distinct_paths(plan)
    if names is None:
        return _all_images(plan)
    chosen = frozenset(names)
    found = (
        replace(image, members=tuple(name for name in image.members if name in chosen)) for image in _all_images(plan)
    )
    return tuple(image for image in found if image.members)


def own_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """The files of a device by path that it does not have from its group's image: all, where it has none."""
    return tuple(sorted((*renderers.own_files(plan, device), *_beside(plan, device)), key=_path))


def layered_kinds(plan: Plan, kinds: Collection[str]) -> tuple[Iterator[Artifact], tuple[GroupImage, ...]]:
    """The artifacts of ``kinds`` alone: what a proof reads. First those that devices have alone, then images'."""
    require_distinct_paths(plan)
    images = tuple(
        replace(image, files=tuple(each for each in image.files if each.kind in kinds)) for image in _all_images(plan)
    )
    return _own_of_kinds(plan, kinds), images


def _own_of_kinds(plan: Plan, kinds: Collection[str]) -> Iterator[Artifact]:
    for entry in renderers.RENDERERS:
        if entry.kind in kinds:
            for device in plan.devices:
                if entry.applies(plan, device):
                    yield from entry.own(plan, device)
    for device in plan.devices:
        yield from (each for each in _beside(plan, device) if each.kind in kinds)


def _beside(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """What of the files that a device shares with its kind is not in its group's image."""
    image = _image_of(plan).get(device.name)
    if image is not None and device_kind(plan, device) == image.kind:
        return ()
    taken = frozenset(map(_content, image.files)) if image is not None else frozenset()
    return tuple(each for each in renderers.NODE_FILES.shared_with(plan, device) if _content(each) not in taken)


@per_plan
def _all_images(plan: Plan) -> tuple[GroupImage, ...]:
    groups: dict[str, dict[Kind, list[Device]]] = {}
    for device in plan.devices:
        kind = device_kind(plan, device)
        if kind is not None:
            group = f"{NODES}/{kind.node_group}" if isinstance(kind, NodeKind) else f"{SWITCHES}/{kind.system}"
            groups.setdefault(group, {}).setdefault(kind, []).append(device)
    return tuple(image for group, kinds in groups.items() for image in _of_group(plan, group, kinds))


def _of_group(plan: Plan, group: str, kinds: Mapping[Kind, list[Device]]) -> Iterable[GroupImage]:
    largest = max(kinds, key=lambda kind: len(kinds[kind]))
    for kind, devices in kinds.items():
        if len(devices) < 2:
            continue
        owner = group if kind is largest else f"{group}.{devices[0].name}"
        files = renderers.shared_files(plan, kind, owner)
        if not files:
            continue
        members = [device.name for device in devices]
        if kind is largest:
            paths = {artifact.path for artifact in files}
            alone = [device for other in kinds.values() if len(other) == 1 for device in other]
            members += [device.name for device in alone if paths <= _paths(plan, device)]
        yield GroupImage(
            owner=owner, kind=kind, members=tuple(sorted(members, key=_places(plan).__getitem__)), files=files
        )


def _paths(plan: Plan, device: Device) -> set[str]:
    return {artifact.path for artifact in renderers.device_files(plan, device)}


@per_plan
def _places(plan: Plan) -> Mapping[str, int]:
    return {device.name: at for at, device in enumerate(plan.devices)}


@per_plan
def _image_of(plan: Plan) -> Mapping[str, GroupImage]:
    return {name: image for image in _all_images(plan) for name in image.members}


def _content(artifact: Artifact) -> tuple[str, int, str, str]:
    return artifact.path, artifact.mode, artifact.kind, artifact.sha256
