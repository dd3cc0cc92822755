"""Network namespaces on this machine: created in batches, entered by a thread, removed with their processes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from clusterwright.child_environment import child_environment
from clusterwright.finding import ClusterwrightError

NETNS = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
_KILL_TIMEOUT_S = 10


def run_ip(batch: str, namespace: str | None = None, version: int | None = None) -> None:
    """Run lines of ``ip -batch``, in a namespace or in the machine's own network; rules need the IP ``version``.

    Raises ClusterwrightError with ip's error message for a refused line.
    """
    where = ["-n", namespace] if namespace else []
    family = [f"-{version}"] if version else []
    ended = subprocess.run(
        ["ip", *family, *where, "-batch", "-"],
        input=batch,
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
    )
    if ended.returncode != 0:
        raise ClusterwrightError(f"ip refused a step of the lab's network: {ended.stderr.strip()}")


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Move this thread into the namespace, with the threads and processes it starts and the sockets it opens."""
    with Path("/proc/thread-self/ns/net").open() as home, (NETNS / namespace).open() as target:
        _enter(target.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def namespaces_named(prefix: str) -> list[str]:
    """The existing namespaces with this prefix of the name, sorted."""
    return sorted(path.name for path in NETNS.glob("*") if path.name.startswith(prefix))


def processes_in(namespaces: Iterable[str]) -> list[int]:
    """The ids of all processes in the namespaces, from a single walk over /proc."""
    inodes = set()
    for name in namespaces:
        with contextlib.suppress(FileNotFoundError):
            inodes.add((NETNS / name).stat().st_ino)
    processes = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # a process that ends meanwhile
                if (folder / "ns/net").stat().st_ino in inodes:
                    processes.append(int(folder.name))
    return processes


def remove_namespaces(prefix: str) -> None:
    """Kill the processes in namespaces with this prefix, and remove these. Raises ClusterwrightError."""
    namespaces = namespaces_named(prefix)
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    while (running := processes_in(namespaces)) and time.monotonic() < deadline:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)
    if namespaces:
        run_ip("".join(f"netns del {namespace}\n" for namespace in namespaces))


def _enter(descriptor: int) -> None:
    # os.setns came with Python 3.12.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise ClusterwrightError(f"entering a namespace of the lab: {os.strerror(ctypes.get_errno())}")
