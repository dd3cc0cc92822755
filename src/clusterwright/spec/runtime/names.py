"""Variables of a release of NCCL or PyTorch: tables taken from the strings of the real libraries.

The tables are in inventory/nccl, one for each minor release; ``tools/runtime_names.py`` writes them with the name of
the wheel. Patch releases share a table.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clusterwright import data_files


def known_names(library: str, version: str) -> frozenset[str] | None:
    """The variables of ``library`` (``nccl`` or ``torch``) in ``version``; None without a table."""
    return _tables(library).get(minor_of(version))


def known_versions(library: str) -> tuple[str, ...]:
    """The minor releases of ``library`` with a table, oldest first."""
    return tuple(sorted(_tables(library), key=release))


def minor_of(version: str) -> str:
    """``2.27`` of ``2.27.5``."""
    return ".".join(version.split(".")[:2])


def release(version: str) -> tuple[int, ...]:
    """A version as numbers, for comparisons: (2, 27, 5) of ``2.27.5``. Raises ValueError for other words."""
    return tuple(int(part) for part in version.split("."))


@cache
def _tables(library: str) -> dict[str, frozenset[str]]:
    files = (data_files.folder("inventory") / "nccl").glob(f"{library}-*.txt")
    return {file.stem.partition("-")[2]: _names(file) for file in sorted(files)}


def _names(file: Path) -> frozenset[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
