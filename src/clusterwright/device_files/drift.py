"""Differences between a device's running and its rendered files: by meaning, never by whitespace."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clusterwright.known_secrets import SHOWN
from clusterwright.placeholder import PLACEHOLDER, around


class Difference(StrEnum):
    """The kind of a difference between the running text and the planned one."""

    MISSING = "missing"
    UNEXPECTED = "unexpected"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference at ``place`` within ``file`` (a section, a path, a key): the ``planned`` and the running text.

    ``sections`` are the EOS sections, or the keys of a JSON path, above the difference; ``value`` is the running JSON
    value, for files in JSON.
    """

    device: str
    file: str
    kind: Difference
    place: str
    planned: str = ""
    runs: str = ""
    sections: tuple[str, ...] = ()
    value: Any = None

    @property
    def message(self) -> str:
        """The difference in a sentence, without device and file."""
        where = f"{self.place}: " if self.place else ""
        if self.kind is Difference.MISSING:
            return f"{where}{_shown(self.planned)} is planned and does not run"
        if self.kind is Difference.UNEXPECTED:
            return f"{where}{_shown(self.runs)} runs and is not planned"
        return f"{where}{_shown(self.planned)} is planned, {_shown(self.runs)} runs"


FileDifference = tuple[Difference, str, str, str, tuple[str, ...], Any]
"""A difference within a file: kind, place, planned, runs, sections, value."""

Compare = Callable[[str, str], Iterable[FileDifference]]
"""Compares a file's rendered text with the running one. Raises ValueError for text that cannot be read."""


_LONGEST = 160


def is_as_planned(planned: str, runs: str) -> bool:
    """Whether two values are equal, a placeholder matching any secret in any stored form."""
    if planned == runs:
        return True
    parts = around(planned)
    if len(parts) == 1:
        return False
    # EOS keeps `key 0 SECRET` as `key 7 0110...`, and `sha SECRET` of SNMP as `sha localized-key`
    pattern = r"(?:localized )?\S+".join(re.sub(r"(?:\\ )0(?:\\ )$", r" \\d+ ", re.escape(part)) for part in parts)
    return re.fullmatch(pattern, runs) is not None


def _shown(text: str) -> str:
    text = PLACEHOLDER.sub(SHOWN, text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def as_text(value: Any) -> str:
    """A JSON value on one line."""
    return json.dumps(value, sort_keys=True)
