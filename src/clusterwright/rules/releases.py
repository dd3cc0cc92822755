"""The release introducing each rule: ``releases.json`` lists the new codes of each.

A code in it is never removed and never gets another meaning. ``tools/release`` adds those of a new release.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from clusterwright import __version__
from clusterwright.finding import ClusterwrightError

FILE = Path(__file__).with_name("releases.json")


def since(code: str) -> str:
    """The release introducing the rule ``code``: this version for a code without an earlier one."""
    return _release_by_code().get(code, __version__)


def is_newer_than(code: str, version: str) -> bool:
    """Whether ``version`` lacks the rule ``code``. Raises ClusterwrightError for an invalid version."""
    return numbers_of(since(code)) > numbers_of(version)


def numbers_of(version: str) -> tuple[int, int, int]:
    """A version for comparison: 0.1 is 0.1.0. Raises ClusterwrightError for an invalid one."""
    parts = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version, re.ASCII)
    if parts is None:
        raise ClusterwrightError(f'"{version}" is no version: write 0.1 or 0.1.0.')
    return int(parts[1]), int(parts[2]), int(parts[3] or 0)


@cache
def _release_by_code() -> dict[str, str]:
    codes_by_release: dict[str, list[str]] = json.loads(FILE.read_text())
    release_by_code: dict[str, str] = {}
    for release, codes in codes_by_release.items():
        release_by_code.update(dict.fromkeys(codes, release))
    return release_by_code
