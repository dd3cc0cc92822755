"""Releases of Kea, and settings that a release lacks: Kea does not start on a word that it does not know."""

from __future__ import annotations

import re

from clusterwright.spec.distribution import distribution_of, families
from clusterwright.spec.image import Image

# Debian 12's 2.2.0 takes `service-sockets-max-retries` and opens a socket with it as soon as its address is ready.
_RETRIES_SINCE = (2, 2)
_PACKAGES = re.compile(r"(isc-)?kea.*")


def retries_sockets(image: Image | None) -> bool:
    """Whether Kea can try again to open a socket whose address was not ready at its start.

    False for an unknown release of Kea: from packages of another origin, or in a distribution's release without a
    recorded version. A machine without an image counts as any release of Debian.
    """
    if image is None:
        return all(_has_retries(release.kea) for release in families()["debian"].releases)
    distribution = distribution_of(image.distribution)
    if distribution is None or any(_PACKAGES.fullmatch(package.name) for package in image.packages):
        return False
    return _has_retries(distribution.of.kea)


def _has_retries(release: str | None) -> bool:
    if release is None:
        return False
    return tuple(int(number) for number in release.split(".")) >= _RETRIES_SINCE
