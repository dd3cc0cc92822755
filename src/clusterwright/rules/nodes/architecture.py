"""CW640: images, compared with the processors of their nodes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.models import IMAGE_ARCH


@rule("CW640", Severity.ERROR)
def image_of_another_architecture(subject: Subject) -> Iterator[Problem]:
    """Nodes with processors of another architecture than their image."""
    for group in subject.spec.node_groups:
        image = subject.spec.image(group.image or "")
        if image is None or image.is_existing or group.model.runs_images:
            continue
        message = (
            f"Nodes of {group.name} are {group.model.arch} ({group.model.name}), and kernel, boot loader and packages"
            f" of {image.name} are built for {IMAGE_ARCH}."
        )
        hint = f"Write `delivery: existing` for {image.name}, and install the nodes yourself."
        yield Problem((*group.path, "model"), message, hint)
