"""Golden files: what is rendered today, kept where a reviewer can read it.

``make golden`` (CLUSTERWRIGHT_GOLDEN=write) writes them anew; every other run compares.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
REFRESH = os.environ.get("CLUSTERWRIGHT_GOLDEN") == "write"


def assert_golden(path: str, content: bytes) -> None:
    """Compares ``content`` with ``tests/golden/<path>``; on refresh writes it. Fails with a unified diff."""
    file = GOLDEN / path
    if REFRESH:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return
    assert file.is_file(), f"no golden file {path}; `make golden` writes it"
    expected = file.read_bytes()
    if content == expected:
        return
    diff = difflib.unified_diff(
        expected.decode().splitlines(), content.decode().splitlines(), f"golden/{path}", "rendered", lineterm="", n=2
    )
    raise AssertionError("\n".join(diff) or f"golden/{path} differs in its line endings")
