"""Starting FRR's daemons: releases differ in what they keep open."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright.extras.lab import frr
from clusterwright.finding import ClusterwrightError

NAMESPACE = "cwtest-daemons"


@pytest.fixture
def namespace() -> Iterator[str]:
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    yield NAMESPACE
    subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


def put_zebra(folder: Path, script: str) -> None:
    (folder / "zebra").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "zebra").chmod(0o755)


def test_a_daemon_may_keep_its_standard_error(namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """zebra of FRR 10.3 does so, and the command waited for as long as it ran."""
    put_zebra(tmp_path, "sleep 5 &")
    monkeypatch.setattr(frr, "_DAEMONS", tmp_path)
    begin = time.monotonic()
    frr.start_router(namespace, tmp_path / "router", None)
    assert time.monotonic() - begin < 4


def test_a_daemon_that_does_not_start_is_named_with_its_words(
    namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_zebra(tmp_path, "echo no such option >&2; exit 1")
    monkeypatch.setattr(frr, "_DAEMONS", tmp_path)
    with pytest.raises(ClusterwrightError, match=f"zebra does not start in {NAMESPACE}: no such option"):
        frr.start_router(namespace, tmp_path / "router", None)
