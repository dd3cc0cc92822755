"""Images before and after: nodes updated while running and nodes to reboot, pod by pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.output.fleet import node_images
from clusterwright.plan.model import Plan

MOST_PODS = 12  # shown; JSON names every node


@dataclass(frozen=True, slots=True)
class ImageChange:
    """Nodes with the same change of image, from ``before`` to ``after``, by pod in the order of the plan.

    ``needs_reboot`` is false if running nodes get the whole change as files. ``to_build`` names the image to build
    before a node can boot, "" if it exists.
    """

    before: str
    after: str
    needs_reboot: bool
    to_build: str
    pods: Mapping[str, tuple[str, ...]]


def image_changes(before: Plan, after: Plan, renamed: Mapping[str, str]) -> tuple[ImageChange, ...]:
    """The changes of images of nodes in both plans; ``renamed`` maps names of ``before`` to those of ``after``."""
    old_images, new_images = node_images(before), node_images(after)
    built = {(image.name, image.version) for image in old_images.values()}
    pods_by_change: dict[tuple[str, str, bool, str], dict[str, list[str]]] = {}
    for old_name, old in old_images.items():
        name = renamed.get(old_name, old_name)
        new = new_images.get(name)
        if new is None or new.digest == old.digest:
            continue
        to_build = "" if (new.name, new.version) in built else f"{new.name}_{new.version}"
        needs_reboot = new.boot_digest != old.boot_digest
        key = (f"{old.name} {old.content}", f"{new.name} {new.content}", needs_reboot, to_build)
        device = after.by_name[name]
        pods_by_change.setdefault(key, {}).setdefault(device.pod, []).append(device.name)
    changes = []
    for (old_image, new_image, needs_reboot, to_build), names_by_pod in pods_by_change.items():
        change = ImageChange(
            before=old_image,
            after=new_image,
            needs_reboot=needs_reboot,
            to_build=to_build,
            pods={pod: tuple(names) for pod, names in names_by_pod.items()},
        )
        changes.append(change)
    return tuple(changes)


def image_lines(changes: Sequence[ImageChange]) -> Iterator[str]:
    """The changes as text."""
    yield "" if changes else "\nimages: no change"
    if not changes:
        return
    yield "images"
    for change in changes:
        count = sum(len(names) for names in change.pods.values())
        if change.needs_reboot:
            word, action = "REBOOT", "reboot"
        else:
            word, action = "live  ", "apply it live"
        nodes = "node" if count == 1 else "nodes"
        yield f"  {word} {change.before} → {change.after}: {count:,} {nodes} {action}"
        if change.to_build:
            yield f"    build {change.to_build} first: until boot servers have it, no node can boot it"
        for pod, names in list(change.pods.items())[:MOST_PODS]:
            yield f"    wave {pod or 'above the pods'}: {len(names):,}"
        if len(change.pods) > MOST_PODS:
            yield f"    ... and {len(change.pods) - MOST_PODS} more waves"
