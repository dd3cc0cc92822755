"""Ends processes of an update at a step that is counted, in every Python program that finds this on its PYTHONPATH.

CLUSTERWRIGHT_KILL is ``ROLE:STEP:VICTIM``: when the program of that role (driver or provider) is about to do its
STEP-th change of a file system, VICTIM gets SIGKILL: self, engine, or all three. Steps are counted in the file that
CLUSTERWRIGHT_KILL_COUNT names, over all processes of an update; without a STEP nobody is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROLE, _, _REST = os.environ.get("CLUSTERWRIGHT_KILL", "").partition(":")
STEP, _, VICTIM = _REST.partition(":")
STEPS = ("replace", "rename", "fsync", "unlink", "mkdir", "rmdir", "chmod")
"""The calls of ``os`` that change what is there, or make sure of it."""


def role_of(line: bytes) -> str:
    """Which of the programs of an update a command line is of."""
    if b"pulumi-resource-clusterwright" in line:
        return "provider"
    if b"/clusterwright\0up\0" in line:
        return "driver"
    return "engine" if b"pulumi\0" in line else ""


def victims() -> list[int]:
    """Whom to end. The driver's engines are below it, the provider's above."""
    if VICTIM == "self":
        return [os.getpid()]
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                environ = (entry / "environ").read_bytes()
                if _MARK in environ and role_of(line) in (("engine",) if VICTIM == "engine" else ("engine", "driver")):
                    found.append(int(entry.name))
    return found if VICTIM == "engine" else [*found, os.getpid()]


_MARK = f"CLUSTERWRIGHT_KILL_SITE={os.environ.get('CLUSTERWRIGHT_KILL_SITE', '')}\0".encode()


def counted(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, before which the victims end when its turn has come."""

    def step(*arguments: Any, **options: Any) -> Any:
        if next_step() == int(STEP or 0):
            for pid in victims():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return call(*arguments, **options)

    return step


def next_step() -> int:
    """The number of this step, over all processes of the update: each adds a byte to one file."""
    counter = os.open(os.environ["CLUSTERWRIGHT_KILL_COUNT"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(counter, b".")
        return os.lseek(counter, 0, os.SEEK_CUR)
    finally:
        os.close(counter)


if ROLE and role_of("\0".join([*sys.orig_argv, ""]).encode()) == ROLE:
    for _name in STEPS:
        setattr(os, _name, counted(getattr(os, _name)))
