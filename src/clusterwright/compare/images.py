"""Images before and after: which nodes take a change while they run, and which have to boot anew, pod by pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.output.fleet import node_images
from clusterwright.plan.model import Plan

MOST_PODS = 12  # shown; JSON names every node


@dataclass(frozen=True, slots=True)
class ImageChange:
    """Nodes whose image changes alike, from ``before`` to ``after``, by pod in the order of the plan.

    ``needs_reboot`` is false when all that changes reaches running nodes as files. ``to_build`` names the image that
    has to be built before a node can boot, "" where the one that is built serves.
    """

    before: str
    after: str
    needs_reboot: bool
    to_build: str
    pods: Mapping[str, tuple[str, ...]]


def image_changes(before: Plan, after: Plan, renamed: Mapping[str, str]) -> tuple[ImageChange, ...]:
    """The changes of images of nodes in both plans; ``renamed`` maps names of ``before`` to those of ``after``."""
    new = node_images(after)
    old_images = node_images(before)
    built = {(image.name, image.version) for image in old_images.values()}
    changes: dict[tuple[str, str, bool, str], dict[str, list[str]]] = {}
    for name, old in old_images.items():
        now = new.get(renamed.get(name, name))
        if now is None or now.digest == old.digest:
            continue
        to_build = "" if (now.name, now.version) in built else f"{now.name}_{now.version}"
        needs_reboot = now.boot_digest != old.boot_digest
        key = (f"{old.name} {old.content}", f"{now.name} {now.content}", needs_reboot, to_build)
        device = after.by_name[renamed.get(name, name)]
        changes.setdefault(key, {}).setdefault(device.pod, []).append(device.name)
    return tuple(ImageChange(*key, {pod: tuple(names) for pod, names in pods.items()}) for key, pods in changes.items())


def image_lines(changes: Sequence[ImageChange]) -> Iterator[str]:
    """The changes as people read them."""
    yield "" if changes else "\nimages: no change"
    if not changes:
        return
    yield "images"
    for change in changes:
        count = sum(len(names) for names in change.pods.values())
        how = "REBOOT" if change.needs_reboot else "live  "
        what = "boot anew" if change.needs_reboot else "take it while they run"
        yield f"  {how} {change.before} → {change.after}: {count:,} node{'s' * (count != 1)} {what}"
        if change.to_build:
            yield f"    build {change.to_build} first: until boot servers have it, no node can boot it"
        for pod, names in list(change.pods.items())[:MOST_PODS]:
            yield f"    wave {pod or 'above the pods'}: {len(names):,}"
        if len(change.pods) > MOST_PODS:
            yield f"    ... and {len(change.pods) - MOST_PODS} more waves"
