"""Typing images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.document import Path
from clusterwright.spec.image import Image
from clusterwright.spec.reading import Reading


def image(reading: Reading, data: Mapping[str, Any], path: Path) -> Image:
    """One image at ``path``."""
    return Image(
        name=data["name"],
        distribution=data["distribution"],
        modules=tuple(data.get("modules", ())),
        sysctl={key: str(value) for key, value in data.get("sysctl", {}).items()},
        kernel_parameters=tuple(data.get("kernel_parameters", ())),
        limits={key: str(value) for key, value in data.get("limits", {}).items()},
        path=path,
    )
