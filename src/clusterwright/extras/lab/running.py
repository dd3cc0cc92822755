"""State of a running lab on the machine and its removal: a folder, namespaces, limits of the kernel.

The state of a killed command is found by name: namespaces by their prefix, processes by their namespace,
the kernel's former limits in a file written before they were raised.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clusterwright.durable import open_lock, own_folder, replace, took_lock
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.namespaces import namespaces_named, remove_namespaces
from clusterwright.extras.lab.twin import namespace_prefix
from clusterwright.finding import ClusterwrightError

LABS = Path("/run/clusterwright-labs")
_LIMITS = LABS / "limits.json"
_PROGRAMS = {"ip": "iproute2", "traceroute": "traceroute", "nft": "nftables", "conntrack": "conntrack"}


@dataclass(frozen=True, slots=True)
class LabState:
    """The inputs of a lab's twin. ``faults`` are the kept ones, as (device, port or None)."""

    spec: str
    fabric: str
    cut: Cut
    faults: tuple[tuple[str, str | None], ...] = ()


def require_rights() -> None:
    """Raises ClusterwrightError for a missing program, and for a missing right to create namespaces."""
    for program, package in _PROGRAMS.items():
        if shutil.which(program) is None:
            raise ClusterwrightError(f"a lab needs the program {program}: install the package {package}")
    if os.geteuid() != 0:
        raise ClusterwrightError("a lab is made of network namespaces, which takes root: run as root")


def folder_of(name: str) -> Path:
    """The run folder of a lab, with a folder for each router."""
    return LABS / name


def running_labs() -> list[str]:
    """The names of all running and left-over labs."""
    return sorted(path.parent.name for path in LABS.glob("*/state.json"))


def write_state(name: str, state: LabState) -> None:
    """Record the inputs of a lab, and create its folder."""
    own_folder(LABS, 0o755)
    own_folder(folder_of(name), 0o755)  # routers need access to their own folder inside
    replace(folder_of(name) / "state.json", json.dumps(asdict(state), indent=1).encode())


def read_state(name: str) -> LabState:
    """The inputs of a running lab. Raises ClusterwrightError for a lab that is not running."""
    try:
        data: dict[str, Any] = json.loads((folder_of(name) / "state.json").read_text())
    except FileNotFoundError as error:
        raise ClusterwrightError(f"{name}: this lab does not run. Start it with `clusterwright lab up`.") from error
    cut = data["cut"]
    return LabState(
        spec=data["spec"],
        fabric=data["fabric"],
        cut=Cut(pods=tuple(cut["pods"]), racks=cut["racks"], routers=cut["routers"], nodes=cut["nodes"]),
        faults=tuple((device, port) for device, port in data["faults"]),
    )


@contextlib.contextmanager
def exclusively(name: str) -> Iterator[None]:
    """Lock this lab against other commands. Raises ClusterwrightError for a locked one."""
    own_folder(LABS, 0o755)
    with open_lock(LABS / f"{name}.lock") as lock:
        if not took_lock(lock):
            raise ClusterwrightError(f"{name}: another command is at work on this lab. Wait until it ends.")
        yield


def remove_lab(name: str) -> bool:
    """Remove a lab, complete or not; True if anything existed. Raises ClusterwrightError."""
    prefix = namespace_prefix(name)
    if folder_of(name).is_symlink():
        raise ClusterwrightError(f"{folder_of(name)}: a link, where the lab's folder should be. Remove it.")
    was_running = bool(namespaces_named(prefix)) or folder_of(name).exists()
    remove_namespaces(prefix)
    if folder_of(name).exists():
        shutil.rmtree(folder_of(name))
    with _limits_locked():
        if _LIMITS.exists() and not running_labs():
            for path, value in json.loads(_LIMITS.read_text()).items():
                Path(path).write_text(value)
            _LIMITS.unlink()
    return was_running


def raise_limits(limits: Mapping[str, int]) -> None:
    """Raise lower kernel limits to these values, by path under /proc/sys; the last removed lab restores them."""
    with _limits_locked():
        saved: dict[str, str] = json.loads(_LIMITS.read_text()) if _LIMITS.exists() else {}
        low = {path: value for path, value in limits.items() if int(Path(path).read_text()) < value}
        saved = {path: Path(path).read_text() for path in low} | saved
        replace(_LIMITS, json.dumps(saved).encode())
        for path, value in low.items():
            Path(path).write_text(str(value))


@contextlib.contextmanager
def _limits_locked() -> Iterator[None]:
    own_folder(LABS, 0o755)
    with open_lock(LABS / "limits.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
