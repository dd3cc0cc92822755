"""Which releases of NVIDIA's drivers exist for a distribution, as far as it could be looked up.

Two lists of NVIDIA: the driver installation guide of R580, which names Red Hat's family 10 and Debian 13 for the first
time that was found, and DOCA's repositories, where ``doca/2.9.1`` (OFED 24.10) was seen for Ubuntu 22.04 and 24.04 and
Red Hat's family 8 and 9, and ``doca/3.2.1/rhel10`` (OFED 25.10) is the first for family 10. DOCA numbers its releases
apart from the OFED in them: UCX's release notes name OFED 25.07 in DOCA 3.1.0. A release that is older
than the distribution itself (RHEL 10: May 2025, Debian 13: August 2025) was never built for it; what lies between is
not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.spec.distribution import Distribution
from clusterwright.spec.image import Driver

Release = tuple[int, ...]
GPU, ADAPTERS = "the GPU driver", "OFED"


@dataclass(frozen=True, slots=True)
class Releases:
    """Releases before ``none_before`` were not built for a distribution; from ``seen_from`` on they are published."""

    none_before: Release
    seen_from: Release


_EL_10 = {GPU: Releases((570,), (580,)), ADAPTERS: Releases((25, 4), (25, 10))}
_KNOWN = {
    **dict.fromkeys((("alma", "10"), ("rocky", "10"), ("rhel", "10"), ("centos", "10")), _EL_10),
    ("debian", "trixie"): {GPU: Releases((570,), (580,))},
    ("ubuntu", "noble"): {GPU: Releases((550,), (550,)), ADAPTERS: Releases((24, 4), (24, 10))},
    ("ubuntu", "jammy"): {GPU: Releases((510,), (550,)), ADAPTERS: Releases((22, 4), (24, 10))},
}


# The OFED in a release of DOCA, by the first two numbers of both; DOCA's are below 10, OFED's are years.
_OFED_OF_DOCA: Mapping[Release, Release] = {(2, 9): (24, 10), (3, 1): (25, 7), (3, 2): (25, 10)}
_FIRST_YEAR = 10


def driver_kind(driver: Driver) -> str | None:
    """Which of the two lists a driver belongs to, by its modules; None for one that is on neither."""
    kinds = {"nvidia": GPU, "mlx5_core": ADAPTERS}
    return next((kinds[module] for module in driver.modules if module in kinds), None)


def release_of(driver: Driver) -> Release:
    """The numbers by which releases follow each other: 560.35.03 as (560, 35, 3), 24.10-1.1.4 as (24, 10, 1, 1, 4)."""
    return tuple(int(number) for number in re.findall(r"\d+", driver.version))


def known_releases(distribution: Distribution) -> Mapping[str, Releases]:
    """Known releases for a distribution, by the kind of driver."""
    return _KNOWN.get((distribution.tool, distribution.release), {})


def is_missing(driver: Driver, distribution: Distribution) -> bool | None:
    """True where the driver was never built for the distribution, False where it is published, None: not known."""
    kind = driver_kind(driver)
    releases = known_releases(distribution).get(kind or "")
    release: Release | None = release_of(driver)
    if kind == ADAPTERS and release and release[0] < _FIRST_YEAR:
        release = _OFED_OF_DOCA.get(release[:2])
    if releases is None or not release:
        return None
    if release < releases.none_before:
        return True
    return False if release >= releases.seen_from else None
