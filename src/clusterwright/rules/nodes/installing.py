"""CW632 to CW634: images installed to disk, and the disks wiped by their installer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.encryption import Scratch
from clusterwright.spec.image import Image

_LASTING = ("/dev/disk/by-path/", "/dev/disk/by-id/")


@rule("CW632", Severity.ERROR)
def wrong_disk(subject: Subject) -> Iterator[Problem]:
    """Image disks with an unstable name, without an installer, or in use as scratch."""
    for image in subject.spec.images:
        path = (*image.path, "disks")
        if image.disks and image.delivery != "disk":
            message = f"{image.name} boots into memory, and nothing is installed on a disk."
            yield Problem(path, message, "Write `delivery: disk`, or remove `disks`.", key=True)
            continue
        for index, disk in enumerate(image.disks):
            if not disk.startswith(_LASTING):
                message = f"{disk} may be another disk after the next boot."
                yield Problem((*path, index), message, "Use its name below /dev/disk/by-path or /dev/disk/by-id.")
        for scratch in _scratch_of(subject, image):
            if _disk(scratch) in image.disks:
                message = f"{scratch.name} is on a disk that the installer of {image.name} takes."
                yield Problem((*scratch.path, "device"), message, "Name other disks.")


@rule("CW634", Severity.WARNING)
def scratch_that_may_be_wiped(subject: Subject) -> Iterator[Problem]:
    """Scratch disks with names not comparable with the installer's disks."""
    for image in (image for image in subject.spec.images if image.delivery == "disk"):
        for scratch in _scratch_of(subject, image):
            path, folder = (*scratch.path, "device"), scratch.device.rpartition("/")[0]
            if not image.disks:
                message = f"The installer of {image.name} takes the smallest disk, which may be that of {scratch.name}."
                yield Problem(path, message, f"Add `disks` to {image.name}.")
            elif _disk(scratch) not in image.disks and any(disk.rpartition("/")[0] != folder for disk in image.disks):
                message = f"{scratch.device} may be on a disk that the installer of {image.name} takes."
                yield Problem(path, message, "Name all of them by /dev/disk/by-path, or all by /dev/disk/by-id.")


def _scratch_of(subject: Subject, image: Image) -> list[Scratch]:
    """Scratch disks on nodes with an image."""
    groups = {group.name for group in subject.spec.node_groups if group.image == image.name}
    return [scratch for scratch in subject.spec.encryption.scratch if groups & set(scratch.nodes)]


def _disk(scratch: Scratch) -> str:
    """The disk of a scratch device, without a partition number."""
    return re.sub(r"-part[0-9]+$", "", scratch.device)


@rule("CW633", Severity.ERROR)
def installer_without_answers(subject: Subject) -> Iterator[Problem]:
    """Images for disks with an installer prompting at the console, or without packages."""
    for image in (image for image in subject.spec.images if image.delivery == "disk"):
        distribution = distribution_of(image.distribution)
        if distribution is None:
            continue
        if distribution.family.installer is None:
            message = f"No answers are rendered for the installer of {image.distribution}: it waits for input."
            yield Problem((*image.path, "delivery"), message, "Write `delivery: memory`, or use another distribution.")
        elif not distribution.family.archives and not image.repositories:
            message = f"The installer of {image.distribution} has no source of packages."
            yield Problem((*image.path, "delivery"), message, "Add `repositories`.", key=True)
