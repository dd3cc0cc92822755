"""Which values of a system's files may differ from the rendered ones.

The world is closed for values as it is for names: a value that no fact reads decides something all the same, because
some program of the switch reads it. Every value has to be the rendered one, but for two kinds of fields that stand on
a system's lists: those whose every value a fact of the readers takes, and those that touch no claim.
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
    """Fields that touch no claim: the ``program`` of the switch that reads them, why, and the pattern of their keys."""

    program: str
    reason: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The fields of a file that may have other values than the rendered ones.

    ``judged`` are those of which the readers' facts tell every value, so that the proofs decide. ``touches`` are the
    claims that a value could touch, by the pattern of its keys: every claim where none of these fits.
    """

    judged: re.Pattern[str]
    harmless: tuple[IdleFields, ...]
    touches: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = ()

    def may_differ(self, keys: Keys) -> bool:
        """Whether a difference at these keys is decided by a proof, or by nothing."""
        place = BETWEEN.join(keys)
        if self.judged.fullmatch(place) is not None:
            return True
        return any(group.pattern.fullmatch(place) is not None for group in self.harmless)

    def claims_of(self, keys: Keys) -> frozenset[str]:
        """The claims that a value at these keys could touch; empty for every claim that is made of the file."""
        place = BETWEEN.join(keys)
        return next((claims for pattern, claims in self.touches if pattern.fullmatch(place) is not None), frozenset())


def field_pattern(text: str) -> re.Pattern[str]:
    """The keys of fields in a tree of objects, from lines like ``ACL_RULE * : SRC_IP DST_IP``.

    Before the colon stand the keys of an object, behind it its fields; a line without one has fields of the whole file.
    ``*`` is any one key, and a field that ends in ``...`` stands for all below it too.
    """
    patterns = []
    for line in filter(None, map(str.strip, text.splitlines())):
        above, _, fields = line.rpartition(":")
        for field in fields.split():
            name = field.removesuffix(_BELOW)
            pattern = BETWEEN.join(_key(word) for word in (*above.split(), name))
            patterns.append(f"{pattern}(?:{BETWEEN}.*)?" if field.endswith(_BELOW) else pattern)
    return _one_of(patterns)


def line_pattern(sections: Iterable[tuple[str, str]]) -> re.Pattern[str]:
    """Lines of a text, from the pattern of a section's first line and those of the lines below it, a line each.

    Without lines below, the first line itself is meant.
    """
    patterns = []
    for header, lines in sections:
        below = [line.strip() for line in lines.splitlines() if line.strip()]
        patterns += [f"(?:{header}){BETWEEN}(?:.*{BETWEEN})?(?:{line})" for line in below] or [f"(?:{header})"]
    return _one_of(patterns)


def _key(word: str) -> str:
    return f"(?:(?!{BETWEEN}).)+" if word == _ANY else re.escape(word)


def _one_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or "(?!)")
