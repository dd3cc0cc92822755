"""Debian's archive of a release, asked by apt: what would be installed, from which section, in which version."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache/archives"
_SECTIONS = "main contrib non-free non-free-firmware"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True)
class Archive:
    """The package lists of a release, in a folder of their own: nothing of this machine counts as installed."""

    root: Path

    def _apt(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        folder = f"Dir={self.root}"
        options = ["-o", folder, "-o", f"Dir::State::status={self.root}/status", "-o", "Acquire::Languages=none"]
        settings = ["-o", "APT::Sandbox::User=root", "-o", "APT::Install-Recommends=false", "-o", "Acquire::Retries=3"]
        return subprocess.run([program, *options, *settings, *words], capture_output=True, text=True, check=False)

    def update(self) -> None:
        """Fetch the lists."""
        done = self._apt("apt-get", "-q", "update")
        assert done.returncode == 0, done.stderr

    def install(self, packages: Iterable[str]) -> str:
        """What apt says against installing packages on an empty system; "" where it would install them."""
        done = self._apt("apt-get", "-q", "--simulate", "install", *packages)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def installed_with(self, packages: Iterable[str]) -> set[str]:
        """The names of all packages that come with some."""
        done = self._apt("apt-get", "-q", "--simulate", "install", *packages)
        return set(re.findall(r"^Inst (\S+)", done.stdout, re.M))

    def candidate(self, package: str) -> tuple[str, str]:
        """Version and section of the package that would be installed; "" where there is none."""
        said = self._apt("apt-cache", "policy", package).stdout
        version = re.search(r"Candidate: (\S+)", said)
        section = re.search(r"http\S+ [a-z-]+/(\S+) ", said)
        if version is None or version[1] == "(none)":
            return "", ""
        return version[1], section[1] if section is not None else ""


def archive(code: str) -> Archive:
    """The archive of a release by its code name, whose lists are fetched once."""
    root = CACHE / code
    if not (root / "complete").exists():
        for folder in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/apt/lists/partial"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "var/cache/apt/archives/partial").mkdir(parents=True, exist_ok=True)
        (root / "status").touch()
        source = f"deb [signed-by={_KEYS} arch=amd64] http://deb.debian.org/debian {code} {_SECTIONS}\n"
        (root / "etc/apt/sources.list").write_text(source)
        Archive(root).update()
        (root / "complete").touch()
    return Archive(root)
