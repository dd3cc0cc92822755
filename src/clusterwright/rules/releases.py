"""Which release brought each rule: ``releases.json`` lists the codes that were new in each.

A code that stands there never goes, nor comes to mean something else. ``tools/release`` adds those of a new release.
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
    """The release that brought the rule ``code``: this version, where no earlier one had it."""
    return _release_by_code().get(code, __version__)


def is_newer_than(code: str, version: str) -> bool:
    """Whether ``version`` did not have the rule ``code``. Raises ClusterwrightError for text that is no version."""
    return numbers_of(since(code)) > numbers_of(version)


def numbers_of(version: str) -> tuple[int, int, int]:
    """A version to compare: 0.1 is 0.1.0. Raises ClusterwrightError for text that is none."""
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
