"""What devices run against what was rendered for them: differences by meaning, never by whitespace.

What devices said lies in a folder: ``<device>/<path on the device>`` as the files are there, or the output of a command
under the name that ``OUTPUTS`` gives it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from clusterwright.finding import ClusterwrightError
from clusterwright.known_secrets import SHOWN, value_without_secrets, without_secrets
from clusterwright.placeholder import PLACEHOLDER, around
from clusterwright.platforms.eos.reader.sections import PATH


class Difference(StrEnum):
    """How what runs differs from what is planned."""

    MISSING = "missing"
    UNEXPECTED = "unexpected"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference: at ``place`` within ``file`` (a section, a path, a key), what is ``planned`` and what ``runs``.

    ``sections`` are the EOS sections, or the keys of a JSON path, above what differs; ``value`` is what runs as JSON
    has it, for files that are JSON.
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
        """It in a sentence, without device and file."""
        where = f"{self.place}: " if self.place else ""
        if self.kind is Difference.MISSING:
            return f"{where}{_shown(self.planned)} is planned and does not run"
        if self.kind is Difference.UNEXPECTED:
            return f"{where}{_shown(self.runs)} runs and is not planned"
        return f"{where}{_shown(self.planned)} is planned, {_shown(self.runs)} runs"


Found = tuple[Difference, str, str, str, tuple[str, ...], Any]
"""A difference within a file: kind, place, planned, runs, sections, value."""

Compare = Callable[[str, str], Iterable[Found]]
"""Compares a file's rendered text with what runs. Raises ValueError for text that cannot be read."""


@dataclass(frozen=True, slots=True)
class Output:
    """A command's output: ``files`` are the rendered files that it speaks of, joined in their order."""

    files: str
    command: str


OUTPUTS: Mapping[str, Output] = {
    "running-config": Output(PATH, "show running-config"),
    "nft-ruleset": Output("etc/nftables.conf", "nft list ruleset"),
    "sysctl": Output("etc/sysctl.d/*.conf", "sysctl -a"),
}
_LONGEST = 160


def drifts(
    device: str, rendered: Mapping[str, str], running: Mapping[str, str], judges: Iterable[tuple[str, Compare]]
) -> tuple[Drift, ...]:
    """Every difference of one device, file by file.

    ``rendered`` is its tree, ``running`` what it said, by path or name of an output; ``judges`` say by pattern of the
    rendered path how a file is compared: the first that fits. Raises ClusterwrightError for what cannot be read.
    """
    known = tuple(judges)
    found: list[Drift] = []
    for name, text in sorted(running.items()):
        pattern = OUTPUTS[name].files if name in OUTPUTS else name
        paths = sorted(path for path in rendered if fnmatchcase(path, pattern))
        if not paths:
            found.append(Drift(device, name, Difference.UNEXPECTED, "", runs="a file that the plan does not give it"))
            continue
        compare = next(judge for at, judge in known if fnmatchcase(paths[0], at))
        try:
            differences = tuple(compare("\n".join(rendered[path] for path in paths), text))
        except ValueError as error:
            raise ClusterwrightError(f"{device}/{name}: cannot be read as {paths[0]}: {error}") from None
        found += [_without_secrets(Drift(device, paths[0], *difference)) for difference in differences]
    return tuple(found)


def _without_secrets(drift: Drift) -> Drift:
    """The difference without the words that stand where secrets do: what runs unplanned may hold one of its own."""
    place = without_secrets(drift.place)
    runs = value_without_secrets(drift.place.rpartition("/")[2].strip(), drift.runs)
    sections = tuple(map(without_secrets, drift.sections))
    value = drift.value if runs == drift.runs else None
    return replace(drift, place=place, runs=runs, sections=sections, value=value)


def is_as_planned(planned: str, runs: str) -> bool:
    """Whether two values are one, a placeholder standing for any secret and the form in which it is kept."""
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
