"""SONiC's sources of the releases that the text is written for, and one older."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "foreign"
REPOSITORY = "sonic-net/sonic-buildimage"
WRITTEN_FOR = ("202511", "202605")
OLDER = "202505"
_FETCHES_S = 900


@cache
def sonic_sources() -> Path:
    """A clone with these releases as branches: the one of CLUSTERWRIGHT_FOREIGN, or one of their newest commits alone.

    Files are fetched as they are read, if the server sends parts.
    """
    name = REPOSITORY.replace("/", "+")
    given = os.environ.get("CLUSTERWRIGHT_FOREIGN")
    if given is not None:
        return Path(given) / name
    target = CACHE / f"{name}-releases"
    if not target.exists():
        subprocess.run(["git", "init", "--quiet", "--bare", str(target)], check=True)
        url = f"https://github.com/{REPOSITORY}"
        branches = [f"{release}:{release}" for release in (OLDER, *WRITTEN_FOR)]
        _git(target, "remote", "add", "origin", url)
        _git(target, "fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", *branches)
    return target


def archive(release: str, folder: str) -> bytes:
    """A folder of a release as a tar file."""
    return _git(sonic_sources(), "archive", release, folder)


def _git(repository: Path, *words: str) -> bytes:
    command = ["git", "-C", str(repository), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=_FETCHES_S).stdout
