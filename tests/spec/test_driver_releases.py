"""Drivers by both of NVIDIA's numberings, OFED's and DOCA's."""

from __future__ import annotations

import pytest

from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.driver_releases import is_missing
from clusterwright.spec.image import Driver


@pytest.mark.parametrize(
    ("version", "distribution", "expected"),
    [
        ("3.1.0-091000", "Ubuntu 24.04", False),
        ("25.07-0.9.7", "Ubuntu 24.04", False),
        ("23.10-1.1.9", "Ubuntu 24.04", True),
        ("3.2.1", "Rocky 10", False),
        ("2.9.1", "Rocky 10", True),
        ("2.6.0", "Ubuntu 24.04", None),
    ],
)
def test_doca_is_compared_by_the_ofed_in_it(version: str, distribution: str, expected: bool | None) -> None:
    driver = Driver(name="doca-ofed", version=version, packages=(), modules=("mlx5_core",), is_built=False, path=())
    known = distribution_of(distribution)
    assert known is not None
    assert is_missing(driver, known) is expected
