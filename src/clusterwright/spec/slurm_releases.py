"""Compatible releases of Slurm, and features missing in a release.

SchedMD, Upgrade Guide, Compatibility Window: daemons accept messages of the two major releases before their own, since
24.11 of three. slurmdbd must be the newest, then slurmctld, then slurmd.
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
    """The major release in an image, from a package with a version or from the distribution's archive; else None."""
    versions = [package.version for package in image.packages if _PACKAGES.fullmatch(package.name) and package.version]
    for version in versions:
        number = re.match(r"(?:\d+:)?(\d\d\.\d\d)\b", version)
        if number is not None:
            return number[1]
    return None if has_packages_of_its_own(image) else distribution.of.slurm


def has_packages_of_its_own(image: Image) -> bool:
    """Whether an image names packages of Slurm from outside its distribution."""
    distribution = distribution_of(image.distribution)
    if distribution is None:
        return False
    image_packages = {package.name for package in image.packages}
    packages = chain.from_iterable(source.packages.values() for source in distribution.family.other_slurm)
    return any(not image_packages.isdisjoint(names) for names in packages)


def takes_from(newer: str, older: str) -> bool | None:
    """Whether a daemon of release ``newer`` accepts messages of ``older``; None for an unknown release."""
    if newer not in MAJOR or older not in MAJOR:
        return None
    back = 3 if newer >= _THREE_BACK_SINCE else 2
    return 0 <= MAJOR.index(newer) - MAJOR.index(older) <= back
