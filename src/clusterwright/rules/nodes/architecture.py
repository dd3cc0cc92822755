"""CW640: images against the processors of the nodes that run them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

_BUILT_FOR = "x86_64"


@rule("CW640", Severity.ERROR)
def image_of_another_architecture(subject: Subject) -> Iterator[Problem]:
    """Nodes whose processors do not run what is built, booted and installed."""
    for group in subject.spec.node_groups:
        image = subject.spec.image(group.image or "")
        arch = group.model.arch
        if image is None or image.is_existing or arch in (None, _BUILT_FOR):
            continue
        message = (
            f"Nodes of {group.name} are {arch} ({group.model.name}), and kernel, boot loader and packages of"
            f" {image.name} are built for {_BUILT_FOR}."
        )
        hint = f"Write `delivery: existing` for {image.name}, and install the nodes yourself."
        yield Problem((*group.path, "model"), message, hint)
