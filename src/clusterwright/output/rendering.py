"""Files of devices: of a group's image, of one device, or of some kinds.

Common files are not found by comparison: a writer supplies the common files of a kind of device
(``intent.device_kind``). A group is the nodes of a node group, or the switches of a system. Each kind with two or more
devices has an image. A device alone of its kind, an exception, takes the image of most of its group, and has its
differing files individually.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from clusterwright.intent.device_kind import Kind, NodeKind, device_kind
from clusterwright.intent.per_plan import per_plan
from clusterwright.output import renderers
from clusterwright.output.distinct_paths import require_distinct_paths
from clusterwright.output.site_server import site_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from clusterwright.artifact import Artifact
    from clusterwright.plan.model import Device, Plan

FOLDERS = NODES, SWITCHES = "image", "switch"
"""The folders of all images in a tree: those of nodes and those of switches."""
_path = attrgetter("path")


@dataclass(frozen=True, slots=True)
class GroupImage:
    """The common files of the devices ``members``, in the plan's order.

    ``files`` are by path, with ``owner`` as their device. ``kind`` is that of most members. ``owner`` is ``image/<node
    group>`` or ``switch/<system>``; in a group with several kinds, the smaller ones are named after their first device:
    ``image/<node group>.<node>``.
    """

    owner: str
    kind: Kind
    members: tuple[str, ...]
    files: tuple[Artifact, ...]


class Rendering:
    """The files of a plan's devices.

    Methods raise KeyError for an unknown device, ClusterwrightError for conflicting files of a device.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def images(self, names: Iterable[str] | None = None) -> tuple[GroupImage, ...]:
        """The images of the devices ``names`` (None: of all), with their members among these."""
        require_distinct_paths(self._plan)
        images = _all_images(self._plan)
        if names is None:
            return images
        selected = frozenset(names)
        selected_images = []
        for image in images:
            members = tuple(name for name in image.members if name in selected)
            if members:
                selected_images.append(replace(image, members=members))
        return tuple(selected_images)

    def of_device_alone(self, name: str) -> tuple[Artifact, ...]:
        """The files of a device by path, without those of its group's image: all if it has none."""
        device = self._plan.by_name[name]
        files = (*renderers.own_files(self._plan, device), *_beside(self._plan, device))
        return tuple(sorted(files, key=_path))

    def of_devices_alone(self, names: Iterable[str] | None = None) -> Iterator[Artifact]:
        """The same of the devices ``names``, in the plan's order; with None of all, and of the site's own servers."""
        for name in in_plan_order(self._plan, names):
            yield from self.of_device_alone(name)
        if names is None:
            yield from self.of_site()

    def of_device(self, name: str) -> tuple[Artifact, ...]:
        """Every file of a device, by path."""
        return renderers.all_files(self._plan, self._plan.by_name[name])

    def for_nodes(self, name: str, nodes: Collection[str]) -> tuple[Artifact, ...]:
        """Every file of a device; of a boot server's files for nodes, only those for ``nodes``."""
        return renderers.files_for_nodes(self._plan, self._plan.by_name[name], nodes)

    def of_devices(self, names: Iterable[str] | None = None) -> Iterator[Artifact]:
        """The files of the devices ``names``, in the plan's order; with None of all, and of the site's own servers."""
        require_distinct_paths(self._plan)
        for name in in_plan_order(self._plan, names):
            yield from self.of_device(name)
        if names is None:
            yield from self.of_site()

    def of_site(self) -> tuple[Artifact, ...]:
        """The files of the site's own servers, outside of the plan's devices."""
        return site_files(self._plan)

    def of_kinds(self, kinds: Collection[str]) -> Iterator[Artifact]:
        """The artifacts of ``kinds``, of every device, for proofs. Writer by writer, in plan order."""
        require_distinct_paths(self._plan)
        return _whole_of_kinds(self._plan, kinds)

    def of_kinds_by_image(self, kinds: Collection[str]) -> tuple[Iterator[Artifact], tuple[GroupImage, ...]]:
        """The same without repetition: the individual files of devices, and the images with their common files."""
        require_distinct_paths(self._plan)
        images = tuple(_only_kinds(image, kinds) for image in _all_images(self._plan))
        return _individual_of_kinds(self._plan, kinds), images

    def other_kinds(self, kinds: Collection[str]) -> tuple[str, ...]:
        """The kinds of the plan's files besides ``kinds``, in alphabetical order."""
        others = set()
        for writer in renderers.RENDERERS:
            if writer.kind not in kinds and any(writer.applies(self._plan, device) for device in self._plan.devices):
                others.add(writer.kind)
        return tuple(sorted(others))


def in_plan_order(plan: Plan, names: Iterable[str] | None = None) -> list[str]:
    """The names (None: of all devices), each once, in plan order. Raises KeyError for an unknown name."""
    if names is None:
        return [device.name for device in plan.devices]
    places = _places(plan)
    return sorted(set(names), key=places.__getitem__)


def _only_kinds(image: GroupImage, kinds: Collection[str]) -> GroupImage:
    return replace(image, files=tuple(file for file in image.files if file.kind in kinds))


def _whole_of_kinds(plan: Plan, kinds: Collection[str]) -> Iterator[Artifact]:
    for writer in renderers.RENDERERS:
        if writer.kind not in kinds:
            continue
        for device in plan.devices:
            if writer.applies(plan, device):
                yield from writer.render(plan, device)
    yield from (artifact for artifact in site_files(plan) if artifact.kind in kinds)


def _individual_of_kinds(plan: Plan, kinds: Collection[str]) -> Iterator[Artifact]:
    for writer in renderers.RENDERERS:
        if writer.kind not in kinds:
            continue
        for device in plan.devices:
            if writer.applies(plan, device):
                yield from writer.for_device(plan, device)
    for device in plan.devices:
        yield from (artifact for artifact in _beside(plan, device) if artifact.kind in kinds)
    yield from (artifact for artifact in site_files(plan) if artifact.kind in kinds)


def _beside(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Common files of a device's kind that are missing in its group's image."""
    image = _image_of(plan).get(device.name)
    if image is not None and device_kind(plan, device) == image.kind:
        return ()
    in_image = frozenset(map(_content, image.files)) if image is not None else frozenset()
    shared = renderers.NODE_FILES.shared_with(plan, device)
    return tuple(artifact for artifact in shared if _content(artifact) not in in_image)


@per_plan
def _all_images(plan: Plan) -> tuple[GroupImage, ...]:
    groups: dict[str, dict[Kind, list[Device]]] = {}
    for device in plan.devices:
        kind = device_kind(plan, device)
        if kind is None:
            continue
        group = f"{NODES}/{kind.node_group}" if isinstance(kind, NodeKind) else f"{SWITCHES}/{kind.system}"
        groups.setdefault(group, {}).setdefault(kind, []).append(device)
    return tuple(chain.from_iterable(_of_group(plan, group, kinds) for group, kinds in groups.items()))


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
            alone = [devices_of_kind[0] for devices_of_kind in kinds.values() if len(devices_of_kind) == 1]
            members += [device.name for device in alone if paths <= _paths(plan, device)]
        members.sort(key=_places(plan).__getitem__)
        yield GroupImage(owner=owner, kind=kind, members=tuple(members), files=files)


def _paths(plan: Plan, device: Device) -> set[str]:
    return {artifact.path for artifact in renderers.device_files(plan, device)}


@per_plan
def _places(plan: Plan) -> Mapping[str, int]:
    return {device.name: index for index, device in enumerate(plan.devices)}


@per_plan
def _image_of(plan: Plan) -> Mapping[str, GroupImage]:
    image_of: dict[str, GroupImage] = {}
    for image in _all_images(plan):
        image_of |= dict.fromkeys(image.members, image)
    return image_of


def _content(artifact: Artifact) -> tuple[str, int, str, str]:
    return artifact.path, artifact.mode, artifact.kind, artifact.sha256
