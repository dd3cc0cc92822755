"""An image's definition as data, and the digest of its boot-time part."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from clusterwright.intent.image.packages import all_packages
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import Distribution, distribution_of
from clusterwright.spec.image import Image

# Fields without influence on an image: places in the spec, measurements of it, files of the deployment.
_UNMADE = frozenset({"path", "size_bytes", "password", "driver_by_site", "takes"})
# Fields with an effect at boot alone: the rest of a definition reaches running nodes as files.
_BOOT_FIELDS = (
    *("distribution", "repositories", "drivers", "firmware", "blacklist", "module_options"),
    *("kernel_parameters", "hugepages", "delivery", "host_keys"),
)


@per_plan
def boot_digest_of(plan: Plan, name: str) -> str | None:
    """Digest of everything a running node cannot take over.

    None for an image of no known distribution, and for an existing system.
    """
    image = plan.spec.image(name)
    distribution = distribution_of(image.distribution) if image is not None else None
    if image is None or distribution is None or image.is_existing:
        return None
    definition = definition_of(plan, image, distribution)
    boot = {key: definition[key] for key in (*_BOOT_FIELDS, "disks", "packages") if key in definition}
    return hashlib.sha256(json.dumps(boot, sort_keys=True).encode()).hexdigest()


def definition_of(plan: Plan, image: Image, distribution: Distribution) -> dict[str, Any]:
    """The definition as data, without its places in the spec, and with all installed packages."""
    plain = _plain(image)
    if not image.disks:
        del plain["disks"]  # keeps the digests of images without disks as they were before the key existed
    packages = [dataclasses.asdict(package) for package in all_packages(plan, image, distribution)]
    return {**plain, "packages": packages}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name not in _UNMADE]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
