"""Prints the table of variables that one release of NCCL or PyTorch reads, from the strings of its library.

``python tools/runtime_names.py nccl 2.27.5 > inventory/nccl/nccl-2.27.txt``. The wheel comes from the package index
that pip is set up for; what was read from it is kept below .cache/, under the wheel's digest. With ``--sha256`` the
wheel must be that one.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "runtime-names"
# Package, libraries in the wheel, and which whole strings are names of variables.
LIBRARIES = {
    "nccl": ("nvidia-nccl-cu12", ("libnccl.so.2",), rb"NCCL_[A-Z0-9_]+"),
    "torch": (
        "torch",
        ("libtorch_cuda.so", "libtorch_cpu.so"),
        rb"TORCH_(?:NCCL|FR|DISTRIBUTED)_[A-Z0-9_]+|NCCL_[A-Z_]+",
    ),
}
# Whole strings of the libraries that no getenv asks for: log subsystems (NCCL_DEBUG_SUBSYS), log levels, enumerators.
NOT_VARIABLES = frozenset(
    f"NCCL_{word}"
    for word in (
        *("ALL", "ALLOC", "BOOTSTRAP", "CALL", "COLL", "ENV", "GRAPH", "INIT", "NVLS", "P2P", "PROFILE", "PROXY"),
        *("RAS", "REG", "SHM", "TUNING", "CREATE_THREAD_CONTEXT", "NET_DEVICE_HOST", "NET_DEVICE_UNPACK"),
        *("LOG_ABORT", "LOG_INFO", "LOG_NONE", "LOG_TRACE", "LOG_VERSION", "LOG_WARN", "DESTROY", "CFT_NONE"),
    )
)


def table(library: str, version: str, sha256: str | None) -> str:
    """The table's text. Raises CalledProcessError when pip finds no such wheel, or another one than ``sha256``."""
    package, members, pattern = LIBRARIES[library]
    known = CACHE / f"{sha256}.txt"
    if sha256 is None or not known.is_file():
        with tempfile.TemporaryDirectory() as folder:
            wheel = _download(package, version, sha256, Path(folder))
            found = hashlib.sha256(wheel.read_bytes()).hexdigest()
            names = _names(wheel, members, pattern)
        known = CACHE / f"{found}.txt"
        CACHE.mkdir(parents=True, exist_ok=True)
        known.write_text("".join(f"{name}\n" for name in names))
        sha256 = found
    head = (
        f"# Variables that {package} {version} reads: whole strings of {' and '.join(members)} in its wheel.\n"
        f"# wheel: {package}=={version} sha256:{sha256}\n"
        f"# written by: python tools/runtime_names.py {library} {version}\n"
    )
    return head + known.read_text()


def _download(package: str, version: str, sha256: str | None, folder: Path) -> Path:
    requirement = f"{package}=={version}"
    lock = folder / "requirements.txt"
    lock.write_text(requirement if sha256 is None else f"{requirement} --hash=sha256:{sha256}")
    checks = ["--require-hashes"] if sha256 is not None else []
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", *checks]
    subprocess.run([*command, "--dest", str(folder), "--requirement", str(lock)], check=True)
    return next(folder.glob("*.whl"))


def _names(wheel: Path, members: tuple[str, ...], pattern: bytes) -> list[str]:
    found: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.rpartition("/")[2] in members:
                content = archive.read(name)
                found.update(match.decode() for match in re.findall(rb"\0(" + pattern + rb")(?=\0)", content))
    return sorted(found - NOT_VARIABLES)


def main() -> None:
    """Reads the command line and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("library", choices=sorted(LIBRARIES))
    parser.add_argument("version")
    parser.add_argument("--sha256")
    options = parser.parse_args()
    sys.stdout.write(table(options.library, options.version, options.sha256))


if __name__ == "__main__":
    main()
