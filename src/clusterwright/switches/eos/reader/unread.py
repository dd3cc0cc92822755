"""Lines of an EOS configuration outside any reader, and the claims they could touch."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.switches.eos.reader.known_lines import ADDRESS, CLAIMS, IDLE, NEIGHBOUR, QOS, READ
from clusterwright.switches.eos.reader.sections import PATH, EosSection, has_strays, sections_of

_LEVEL = "   "
_EMPTY = frozenset(("", "   !", "      !"))
_MOST = 1 << 12  # lines remembered of each kind of section
_PROFILE = f"{_LEVEL}service-profile "
_PORT = "interface Ethernet"
# Patterns of lines that differ from switch to switch, and of which none says more than that it stands there.
_VARYING = frozenset(
    (
        "description .*",
        ADDRESS,
        rf"{NEIGHBOUR} peer group \S+",
        rf"{NEIGHBOUR} remote-as \d+",
        rf"{NEIGHBOUR} description .*",
    )
)


class _SectionPatterns(NamedTuple):
    """Sections with a first line, and the lines below it; ``is_setting`` if each line makes a setting."""

    begins: re.Pattern[str]
    patterns: tuple[str, ...]
    is_setting: bool


class _EosSetting(NamedTuple):
    """The setting that a line makes: of two lines of a section that make the same one, EOS keeps the last."""

    pattern: str
    groups: tuple[str | None, ...]


class _LineKind:
    """Sections with equal meaning of their lines.

    A line with one of the patterns ``settings`` makes a setting; one with another of ``patterns`` has no effect.
    """

    def __init__(self, patterns: Collection[str], settings: Collection[str]) -> None:
        self._patterns = {pattern: re.compile(f"{_LEVEL}(?:{pattern})") for pattern in patterns}
        self._settings = frozenset(settings)
        self._setting_by_line: dict[str, _EosSetting | None] = {}
        varying = "|".join(map(_without_groups, sorted(_VARYING.intersection(patterns))))
        # it begins with the end of the line before: a search for a fixed text is much faster than one for beginnings
        self._varying = re.compile(rf"\n{_LEVEL}({varying})(?=\n)" if varying else "(?!)()")
        self._bodies: set[tuple[bool, str]] = set()

    def accounts_for(self, line: str) -> bool:
        """Whether a pattern has the line."""
        return line in self._setting_by_line or self._match(line) is not None

    def setting(self, line: str) -> _EosSetting | None:
        """The setting of an accounted line; None for one without effect."""
        if line in self._setting_by_line:
            return self._setting_by_line[line]
        matched = self._match(line)
        if matched is None:
            return None
        pattern, match = matched
        setting = _EosSetting(pattern=pattern, groups=match.groups()) if pattern in self._settings else None
        if len(self._setting_by_line) < _MOST:
            self._setting_by_line[line] = setting
        return setting

    def takes_in(self, section: EosSection) -> bool:
        """Whether all lines below a first line are accounted for.

        Of sections with different names and addresses alone, one is checked line by line.
        """
        parts = self._varying.split(f"\n{section.body}\n")
        varying_lines = parts[1::2]
        if len(set(map(_varying_setting, varying_lines))) < len(varying_lines):
            return False
        common = "".join(parts[::2])
        remainder = section.header.startswith(_PORT), common
        if remainder not in self._bodies:
            if next(_unread([section.header, *common.split("\n")]), None) is not None:
                return False
            if len(self._bodies) < _MOST:
                self._bodies.add(remainder)
        return True

    def _match(self, line: str) -> tuple[str, re.Match[str]] | None:
        """The first pattern that has a line, and its match."""
        for pattern, compiled in self._patterns.items():
            match = compiled.fullmatch(line)
            if match is not None:
                return pattern, match
        return None


def _without_groups(pattern: str) -> str:
    """The pattern with groups that capture nothing."""
    return re.sub(r"\((?!\?)", "(?:", pattern)


def _varying_setting(line: str) -> str:
    """A setting's name, of a line with one of the varying patterns."""
    if line.startswith("ip"):
        return "address"
    before_description, description, _ = line.partition("description ")
    return before_description if description else line.rpartition(" ")[0]


def unread(text: str) -> tuple[Unread, ...]:
    """Every line neither understood nor known to be without influence."""
    if _is_read(text):
        return ()
    return tuple(
        Unread(
            file=PATH,
            line=number,
            text=BETWEEN.join(filter(None, (header, line.strip()))),
            claims=_claims(header or line),
        )
        for number, header, line in _unread(text.split("\n"))
    )


@lru_cache(maxsize=128)
def known_text(text: str) -> str:
    """The text with comments in place of unaccounted lines: no reader takes them for others."""
    unaccounted = unread(text)
    if not unaccounted:
        return text
    lines = text.split("\n")
    for place in unaccounted:
        line = lines[place.line - 1]
        lines[place.line - 1] = f"{line[: len(line) - len(line.lstrip())]}!"
    return "\n".join(lines)


def _is_read(text: str) -> bool:
    """Whether every line is surely accounted for: most files have nothing to tell of."""
    if has_strays(text):
        return False
    settings: set[_EosSetting | str] = set()
    for section in sections_of(text):
        kind, is_known = _kind_of(section.header)
        setting = _margin_setting(section.header)
        if not is_known or setting in settings or (section.body and not kind.takes_in(section)):
            return False
        settings.add(setting)
    return True


def _unread(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Number, the line of the margin above, and the line itself; "" above at the margin or without one."""
    kind, header = _NOWHERE, ""
    margin_settings: set[_EosSetting | str] = set()
    made: set[tuple[tuple[str, ...], _EosSetting]] = set()
    parents: list[str] = []
    for index, line in enumerate(lines):
        if line[:1] == "!":
            kind, header = _NOWHERE, ""
        elif line[:1] not in (" ", "\t", ""):
            kind, is_known = _kind_of(line)
            setting = _margin_setting(line)
            if not is_known or setting in margin_settings:
                yield index + 1, "", line
            margin_settings.add(setting)
            header, made, parents = line, set(), []
        elif line not in _EMPTY and line.strip():
            line_kind = _kind_within(kind, line, lines, index, header)
            if line_kind is None:
                yield index + 1, header, line
                continue
            depth = (len(line) - len(line.lstrip())) // len(_LEVEL) - 1
            parents[depth:] = [line]
            line_setting = line_kind.setting(line)
            if line_setting is None:
                continue
            place = tuple(parents[:depth]), line_setting
            if place in made:
                yield index + 1, header, line
            made.add(place)


def _kind_within(kind: _LineKind, line: str, lines: list[str], index: int, header: str) -> _LineKind | None:
    """The section's kind, or that of an interface's own classes; None if neither accounts for the line."""
    if kind.accounts_for(line):
        return kind
    if _OWN_QOS.accounts_for(line) and _has_no_profile(lines, index, header):
        return _OWN_QOS
    return None


def _has_no_profile(lines: list[str], index: int, header: str) -> bool:
    """Whether a line stands in an Ethernet interface without a profile: then its own classes are read."""
    if not header.startswith(_PORT):
        return False
    first = last = index
    while lines[first].startswith(" "):
        first -= 1
    while lines[last].startswith(" "):
        last += 1
    return not any(line.startswith(_PROFILE) for line in lines[first:last])


@lru_cache(maxsize=1 << 16)
def _kind_of(header: str) -> tuple[_LineKind, bool]:
    """The patterns for a section's lines, and whether its first line is accounted for."""
    entries = tuple(number for number, entry in enumerate(_TABLE) if entry.begins.fullmatch(header))
    return _kind(entries), bool(entries)


@lru_cache(maxsize=1024)
def _kind(entries: tuple[int, ...]) -> _LineKind:
    patterns = list(chain.from_iterable(_TABLE[number].patterns for number in entries))
    settings = list(chain.from_iterable(_TABLE[number].patterns for number in entries if _TABLE[number].is_setting))
    return _LineKind(patterns, settings)


@lru_cache(maxsize=1 << 16)
def _margin_setting(header: str) -> _EosSetting | str:
    """The setting that a line at the margin makes: the line itself if it has no effect or is unknown."""
    for entry in _TABLE:
        match = entry.begins.fullmatch(header)
        if match is not None and entry.is_setting:
            return _EosSetting(pattern=entry.begins.pattern, groups=match.groups())
    return header


@lru_cache(maxsize=1024)
def _claims(header: str) -> frozenset[str]:
    return next((claims for begins, claims in CLAIMS if re.fullmatch(begins, header)), frozenset())


def _patterns(lines: str) -> tuple[str, ...]:
    return tuple(line for line in lines.split("\n") if line)


_TABLE = (
    *(_SectionPatterns(re.compile(begins), _patterns(lines), is_setting=True) for begins, lines in READ),
    *(_SectionPatterns(re.compile(begins), _patterns(lines), is_setting=False) for begins, lines, _ in IDLE),
)
_NOWHERE = _LineKind((), ())
_OWN_QOS = _LineKind(_patterns(QOS), _patterns(QOS))
