"""What a node makes of NCCL's files when it starts: the rendered script on tables of P_Keys as a kernel shows them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.hosts.nccl_reader import read_parameters

PARTS, SCRIPT = ("etc/nccl/nccl.conf", "etc/nccl/partition.conf"), "usr/local/sbin/nccl-partition"
PORT = "sys/class/infiniband/{device}/ports/1/pkeys"


def place(texts: Mapping[str, str], tables: Mapping[str, Sequence[int]], folder: Path) -> None:
    """Write what the script reads below ``folder``: files, and each device's table of P_Keys by index."""
    for path in PARTS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(texts[path])
    for device, keys in tables.items():
        port = folder / PORT.format(device=device)
        port.mkdir(parents=True, exist_ok=True)
        for index, key in enumerate((*keys, *[0] * (8 - len(keys)))):
            (port / str(index)).write_text(f"0x{key:04x}\n")


def start(texts: Mapping[str, str], folder: Path, patience_s: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the script as systemd does, with another root folder."""
    command = ["sh", "-c", texts[SCRIPT], "nccl-partition", str(folder), str(patience_s)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def made(folder: Path) -> dict[str, str]:
    """What NCCL reads from nccl.conf below ``folder``, where the link there leads."""
    link = (folder / "etc/nccl.conf").readlink()
    return read_parameters((folder / str(link).removeprefix("/")).read_text())
