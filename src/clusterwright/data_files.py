"""Folders of data files of the package: templates, roles, the hardware catalogue, schemas, pages.

In a checkout they are the top-level folders; in an installed wheel they lie in ``clusterwright/data``. Messages name a
page by its command, `clusterwright explain PAGE`: a web address could belong to another owner one day.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clusterwright.plugins import plugin_folders

_PACKAGE = Path(__file__).resolve().parent


@cache
def folder(name: str) -> Path:
    """The folder ``name`` (``templates``, ``roles``, ``inventory``) of this installation.

    Raises FileNotFoundError when the installation is incomplete.
    """
    for root in (_PACKAGE / "data", _PACKAGE.parent.parent):
        candidate = root / name
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"this installation of clusterwright lacks its {name}/ folder; reinstall the package")


def folders(name: str) -> tuple[Path, ...]:
    """The folder ``name`` of this installation, then those of installed packages with switch systems."""
    return (folder(name), *plugin_folders(name))


@cache
def pages() -> dict[str, Path]:
    """Every page of docs/ by its name in ``explain``: its file's name, or the code of its rule."""
    docs = folder("docs")
    files = (*sorted(docs.glob("*.md")), *sorted(docs.glob("dev/*.md")), *sorted(docs.glob("rules/CW*.md")))
    return {path.stem: path for path in files}
