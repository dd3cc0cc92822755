"""Targets by the name that a stack's configuration gives them."""

from __future__ import annotations

from pathlib import Path

from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.target import Target
from clusterwright.finding import ClusterwrightError

TARGETS = ("directory",)


def open_target(name: str, root: Path) -> Target:
    """The target called ``name``, kept under ``root``. Raises ClusterwrightError for an unknown name."""
    if name == "directory":
        return DirectoryTarget(root / "flash")
    raise ClusterwrightError(f"there is no target {name!r}; choose one of: {', '.join(TARGETS)}")
