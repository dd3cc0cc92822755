"""What nodes run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.spec.document import Path


@dataclass(frozen=True, slots=True)
class Image:
    """What a node runs: distribution, modules, sysctls, kernel parameters and limits."""

    name: str
    distribution: str
    modules: tuple[str, ...]
    sysctl: Mapping[str, str]
    kernel_parameters: tuple[str, ...]
    limits: Mapping[str, str]
    path: Path
