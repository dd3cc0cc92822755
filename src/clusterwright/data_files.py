"""Where the files that travel with the package are: templates, roles, the hardware catalogue, the JSON Schemas.

In a checkout they are the top-level folders; in an installed wheel they lie in ``clusterwright/data``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

DOCS_SITE = "https://clusterwright.readthedocs.io/en/stable"  # where the pages of docs/ are read

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
