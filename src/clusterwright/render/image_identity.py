"""What an image is called: the digest of all that it is made from.

``digest`` changes with anything that is in the image; ``boot_digest`` only with what a running node cannot take over,
so that equal ``boot_digest`` and different ``digest`` mean: the change is applied to running nodes, without a reboot.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Plan
from clusterwright.render.image_only import image_only_files
from clusterwright.render.image_packages import all_packages
from clusterwright.render.image_tree import Files, shared_files
from clusterwright.render.per_plan import per_plan
from clusterwright.spec.distribution import Distribution, distribution_of
from clusterwright.spec.image import Image

_SHORT = 12  # hexadecimal digits: enough to tell a site's images apart
# What an image is not made from: places in the spec, and what was measured of it.
_UNMADE = frozenset({"path", "size_bytes"})
# What takes effect at boot: the rest of a definition reaches running nodes as files.
_BOOT_FIELDS = (
    *("distribution", "repositories", "drivers", "firmware", "blacklist", "module_options"),
    *("kernel_parameters", "hugepages", "delivery", "host_keys"),
)


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
def identity_of(plan: Plan, name: str, files: Files) -> ImageIdentity | None:
    """The identity of the image ``name``; None where it has no known distribution (lint refuses it)."""
    image = plan.spec.image(name)
    distribution = distribution_of(image.distribution) if image is not None else None
    if image is None or distribution is None:
        return None
    definition = _definition(plan, image, distribution)
    shared = (*shared_files(plan, name, files), *image_only_files(plan, name))
    boot = {key: definition[key] for key in (*_BOOT_FIELDS, "packages")}
    return ImageIdentity(
        name, _digest(definition, shared), _digest(boot, ()), sum(len(each.content) for each in shared)
    )


def _definition(plan: Plan, image: Image, distribution: Distribution) -> dict[str, Any]:
    """The definition as data, without its places in the spec; packages are all that are installed."""
    plain = _plain(image)
    packages = [dataclasses.asdict(package) for package in all_packages(plan, image, distribution)]
    return {**plain, "packages": packages}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name not in _UNMADE]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _digest(definition: Mapping[str, Any], files: tuple[Artifact, ...]) -> str:
    found = hashlib.sha256(json.dumps(definition, sort_keys=True).encode())
    for artifact in files:
        found.update(f"\n{artifact.path}\0{artifact.mode:o}\0{artifact.sha256}".encode())
    return found.hexdigest()
