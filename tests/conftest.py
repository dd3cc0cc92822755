"""What tests in several folders share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def pulumi_on_the_path() -> None:
    """Pulumi from the PATH, or built once; no Go either is a failure that says what to install."""
    found = subprocess.run([CHECKOUT / "tools/build-pulumi"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    os.environ["PATH"] = f"{found.stdout.strip()}{os.pathsep}{os.environ['PATH']}"
    os.environ.setdefault("CLUSTERWRIGHT_REASON", "a test")  # a change of what runs is asked why
