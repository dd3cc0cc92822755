"""Packages of this machine's own release, unpacked and not installed: for programs that would start something."""

from __future__ import annotations

import subprocess
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".cache/packages"


def unpacked(package: str) -> Path:
    """The folder that holds a package, which is fetched once."""
    folder = CACHE / package
    if not folder.exists():
        part = CACHE / f"{package}.part"
        part.mkdir(parents=True, exist_ok=True)
        command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package]
        subprocess.run(command, cwd=part, check=True, capture_output=True)
        (archive,) = part.glob(f"{package}_*.deb")
        subprocess.run(["dpkg-deb", "--extract", archive, part / "tree"], check=True)
        (part / "tree").rename(folder)
    return folder
