"""What an image is called: the digest of all that it is made from.

``digest`` changes with anything that is in the image; ``boot_digest`` only with what a running node cannot take over,
so that equal ``boot_digest`` and different ``digest`` mean: the change is applied to running nodes, without a reboot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.artifact import Artifact
from clusterwright.hosts.image.boot_files import image_only_files
from clusterwright.hosts.image.definition import boot_digest_of, definition_of
from clusterwright.hosts.image.shared import NodeFiles, shared_files
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import distribution_of

_SHORT = 12  # hexadecimal digits: enough to tell a site's images apart


@dataclass(frozen=True, slots=True)
class ImageIdentity:
    """An image by content. ``shared_bytes`` counts the rendered files in it; its packages are not rendered."""

    name: str
    digest: str
    boot_digest: str
    shared_bytes: int

    @property
    def version(self) -> str:
        """The digest as folders and releases are named by it."""
        return self.digest[:_SHORT]


@per_plan
def identity_of(plan: Plan, name: str, files: NodeFiles) -> ImageIdentity | None:
    """The identity of the image ``name``; None where it has no known distribution (lint refuses it)."""
    image = plan.spec.image(name)
    distribution = distribution_of(image.distribution) if image is not None else None
    boot_digest = boot_digest_of(plan, name)
    if image is None or distribution is None or boot_digest is None:
        return None
    definition = definition_of(plan, image, distribution)
    shared = (*shared_files(plan, name, files), *image_only_files(plan, name))
    return ImageIdentity(name, _digest(definition, shared), boot_digest, sum(len(each.content) for each in shared))


def _digest(definition: Mapping[str, Any], files: tuple[Artifact, ...]) -> str:
    found = hashlib.sha256(json.dumps(definition, sort_keys=True).encode())
    for artifact in files:
        found.update(f"\n{artifact.path}\0{artifact.mode:o}\0{artifact.sha256}".encode())
    return found.hexdigest()
