"""Releases of NVIDIA's drivers for a distribution, as far as they could be looked up.

Two lists of NVIDIA: the driver installation guide of R580, the oldest one found with Red Hat's family 10 and Debian 13,
and DOCA's repositories, with ``doca/2.9.1`` (OFED 24.10) for Ubuntu 22.04 and 24.04 and Red Hat's families 8 and 9, and
``doca/3.2.1/rhel10`` (OFED 25.10) as the first for family 10. DOCA numbers its releases independently of the OFED in
them: UCX's release notes name OFED 25.07 in DOCA 3.1.0. A release older than the distribution itself (RHEL 10: May
2025, Debian 13: August 2025) was never built for it; releases in between are unknown.
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
    """The list with a driver, by its modules; None for a driver on neither."""
    kinds = {"nvidia": GPU, "mlx5_core": ADAPTERS}
    for module in driver.modules:
        if module in kinds:
            return kinds[module]
    return None


def release_of(driver: Driver) -> Release:
    """The numbers of a release for comparisons: 560.35.03 as (560, 35, 3), 24.10-1.1.4 as (24, 10, 1, 1, 4)."""
    return tuple(int(number) for number in re.findall(r"\d+", driver.version))


def known_releases(distribution: Distribution) -> Mapping[str, Releases]:
    """Known releases for a distribution, by the kind of driver."""
    return _KNOWN.get((distribution.tool, distribution.release), {})


def is_missing(driver: Driver, distribution: Distribution) -> bool | None:
    """True if the driver was never built for the distribution, False if it is published, None if unknown."""
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
