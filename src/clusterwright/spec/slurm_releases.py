"""Releases of Slurm that work with each other, and features that a release lacks.

SchedMD, Upgrade Guide, Compatibility Window: daemons take what the two major releases before their own say, since 24.11
the three before. slurmdbd is to be the newest, then slurmctld, then slurmd.
"""

from __future__ import annotations

import re
from itertools import chain

from clusterwright.spec.distribution import Distribution, distribution_of
from clusterwright.spec.image import Image

MAJOR = ("20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
_THREE_BACK_SINCE = "24.11"
# CHANGELOG of 24.05.5 and 24.11.0: "Support IPv6 in configless mode."
CONFIGLESS_OVER_IPV6 = "24.05"
# CHANGELOG of 24.05 has the first entries of switch/nvidia_imex.
IMEX_CHANNELS_SINCE = "24.05"
_PACKAGES = re.compile(r"slurm.*")


def slurm_release(image: Image, distribution: Distribution) -> str | None:
    """The major release that an image has, by a package with a version or by the distribution's archive; else None."""
    versions = [package.version for package in image.packages if _PACKAGES.fullmatch(package.name) and package.version]
    for version in versions:
        number = re.match(r"(?:\d+:)?(\d\d\.\d\d)\b", version)
        if number is not None:
            return number[1]
    return None if has_packages_of_its_own(image) else distribution.of.slurm


def has_packages_of_its_own(image: Image) -> bool:
    """Whether an image names packages of Slurm that are not its distribution's."""
    distribution = distribution_of(image.distribution)
    others = distribution.family.other_slurm if distribution is not None else ()
    named = {package.name for package in image.packages}
    others_packages = chain.from_iterable(other.packages.values() for other in others)
    return any(not named.isdisjoint(names) for names in others_packages)


def takes_from(newer: str, older: str) -> bool | None:
    """Whether a daemon of a release accepts messages of another one; None for an unknown release."""
    if newer not in MAJOR or older not in MAJOR:
        return None
    back = 3 if newer >= _THREE_BACK_SINCE else 2
    return 0 <= MAJOR.index(newer) - MAJOR.index(older) <= back
