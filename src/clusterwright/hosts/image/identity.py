"""The digests of an image, one for each effect of a change.

``digest`` changes with anything shared by nodes of the image. ``build_digest`` changes only with the built part:
packages, their sources, compiled drivers. Everything else reaches a node as a file. ``boot_digest`` changes only with
settings fixed at boot: if it stays, the change is applied without a reboot.
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
from clusterwright.hosts.image.mkosi import build_digest
from clusterwright.hosts.image.shared import NodeFiles, shared_files
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import distribution_of

_SHORT = 12  # hexadecimal digits: enough to tell a site's images apart


@dataclass(frozen=True, slots=True)
class ImageIdentity:
    """Digests of an image's content; ``shared_bytes`` is the size of the rendered files beside it."""

    name: str
    digest: str
    build_digest: str
    boot_digest: str
    shared_bytes: int

    @property
    def version(self) -> str:
        """Version of the built image, in the names of its archive, kernel and release."""
        return self.build_digest[:_SHORT]

    @property
    def content(self) -> str:
        """Short digest of the built image with its rendered files, for people."""
        return self.digest[:_SHORT]


@per_plan
def identity_of(plan: Plan, name: str, files: NodeFiles) -> ImageIdentity | None:
    """The identity of the image ``name``; None without a known distribution (lint refuses it)."""
    image = plan.spec.image(name)
    distribution = distribution_of(image.distribution) if image is not None else None
    boot_digest = boot_digest_of(plan, name)
    if image is None or distribution is None or boot_digest is None:
        return None
    definition = definition_of(plan, image, distribution)
    shared = files_beside(plan, name, files)
    return ImageIdentity(
        name=name,
        digest=_digest(definition, shared),
        build_digest=build_digest(plan, image, distribution),
        boot_digest=boot_digest,
        shared_bytes=sum(len(artifact.content) for artifact in shared),
    )


def files_beside(plan: Plan, name: str, files: NodeFiles) -> tuple[Artifact, ...]:
    """The rendered files shared by all nodes of the image ``name``, boot-time ones included."""
    return (*shared_files(plan, name, files), *image_only_files(plan, name))


def _digest(definition: Mapping[str, Any], files: tuple[Artifact, ...]) -> str:
    digest = hashlib.sha256(json.dumps(definition, sort_keys=True).encode())
    for artifact in files:
        digest.update(f"\n{artifact.path}\0{artifact.mode:o}\0{artifact.sha256}".encode())
    return digest.hexdigest()
