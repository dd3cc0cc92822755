"""A Python package of clusterwright as an archive for nodes' Python: one file for any number of modules.

The same modules give the same bytes: nothing is compressed, times are the format's first, entries are sorted.
"""

from __future__ import annotations

import zipfile
from functools import cache
from importlib import resources
from io import BytesIO

FOLDER = "usr/local/lib/clusterwright"
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the oldest date that the format knows
_DIRECTORY_MODE, _FILE_MODE = 0o40755 << 16, 0o100644 << 16


def archive_path(package: str) -> str:
    """Path on nodes of the archive of ``package``, a name such as ``clusterwright.node_health``."""
    return f"{FOLDER}/{package.rpartition('.')[2].replace('_', '-')}.zip"


@cache
def archive_of(package: str) -> bytes:
    """The modules of ``package`` as a zip file, importable under their names."""
    content = BytesIO()
    folder = f"{package.replace('.', '/')}/"
    modules = {}
    for module in resources.files(package).iterdir():
        if module.name.endswith(".py"):
            modules[module.name] = module.read_bytes()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        # Before 3.13 Python finds a package without an __init__ of its own by its folder's entry alone.
        for parent in (f"{folder.partition('/')[0]}/", folder):
            archive.writestr(_entry(parent, _DIRECTORY_MODE), b"")
        for name, text in sorted(modules.items()):
            archive.writestr(_entry(folder + name, _FILE_MODE), text)
    return content.getvalue()


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _FIRST_DAY)
    entry.create_system, entry.external_attr = 3, mode  # Unix
    return entry
