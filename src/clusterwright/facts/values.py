"""Fields of a system's files with values that may differ from the rendered ones.

Values are a closed world, as names are: a value outside the facts has an effect all the same, as some program of the
switch reads it. Every value must be the rendered one, except in two kinds of fields on a system's lists: fields fully
covered by the readers' facts, and fields without effect on any claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.facts.unread import BETWEEN

Keys = tuple[str, ...]
"""The path to a value: the keys of objects, or the lines of sections and the line itself."""

_ANY = "*"
_BELOW = "..."


class IdleFields(NamedTuple):
    """Fields without effect on any claim: the ``program`` reading them, the reason, and the pattern of their keys."""

    program: str
    reason: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The fields of a file with values that may differ from the rendered ones."""

    judged: re.Pattern[str]
    """Fields with every value in the readers' facts, so that the proofs check them."""
    harmless: tuple[IdleFields, ...]
    touches: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = ()
    """Claims that a value could affect, by the pattern of its keys; every claim for other keys."""

    def may_differ(self, keys: Keys) -> bool:
        """Whether a proof checks differences at these keys, or they are harmless."""
        place = BETWEEN.join(keys)
        if self.judged.fullmatch(place) is not None:
            return True
        return any(group.pattern.fullmatch(place) is not None for group in self.harmless)

    def claims_of(self, keys: Keys) -> frozenset[str]:
        """The claims that a value at these keys could affect; empty for every claim on the file."""
        place = BETWEEN.join(keys)
        for pattern, claims in self.touches:
            if pattern.fullmatch(place) is not None:
                return claims
        return frozenset()


def field_pattern(text: str) -> re.Pattern[str]:
    """The keys of fields in a tree of objects, from lines like ``ACL_RULE * : SRC_IP DST_IP``.

    The keys of an object are before the colon, its fields after it; a line without a colon has fields of the whole
    file. ``*`` is any one key, and a field ending in ``...`` includes all fields below it.
    """
    patterns = []
    for line in text.splitlines():
        keys, _, fields = line.rpartition(":")
        for field in fields.split():
            name = field.removesuffix(_BELOW)
            pattern = BETWEEN.join(_key(word) for word in (*keys.split(), name))
            if field.endswith(_BELOW):
                pattern += f"(?:{BETWEEN}.*)?"
            patterns.append(pattern)
    return _one_of(patterns)


def line_pattern(sections: Iterable[tuple[str, str]]) -> re.Pattern[str]:
    """Lines of a text, from pairs of the pattern of a section's first line and the patterns of lines below it.

    Without patterns below, the first line itself matches.
    """
    patterns = []
    for header, lines in sections:
        below = [line.strip() for line in lines.splitlines() if line.strip()]
        if not below:
            patterns.append(f"(?:{header})")
        patterns += [f"(?:{header}){BETWEEN}(?:.*{BETWEEN})?(?:{line})" for line in below]
    return _one_of(patterns)


def _key(word: str) -> str:
    return f"(?:(?!{BETWEEN}).)+" if word == _ANY else re.escape(word)


def _one_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or "(?!)")
