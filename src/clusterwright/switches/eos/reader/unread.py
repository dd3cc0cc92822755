"""Lines of an EOS configuration outside any reader, and the claims they could touch."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import chain

from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.switches.eos.reader.known_lines import CLAIMS, IDLE, QOS, READ
from clusterwright.switches.eos.reader.sections import PATH, EosSection, has_strays, sections_of

_LEVEL = "   "
_MOST = 1 << 12  # lines remembered of each kind of section
# Of these a section has one each: readers take the first, EOS the last.
_ONE = re.compile(
    r" +(?:router-id|maximum-paths|graceful-restart restart-time|match (?:ip|community)|set community"
    r"|bandwidth percent|random-detect ecn minimum-threshold)(?=v6| )"
)
# A line that takes another one of its section back: readers look for one of the two, for EOS the last one counts.
_TOGGLE = re.compile(r"   (?:no )?(shutdown|switchport)")
_COUNTED = ("match ", "router-id")  # of sections without subsections, of which each line counts
_QUEUE = re.compile(r"   (?:uc-)?tx-queue \d+")
_PROFILE = f"{_LEVEL}service-profile "
_PORT = "interface Ethernet"
# Patterns of lines that differ from switch to switch, and of which none says more than that it stands there.
_VARYING = frozenset(
    (
        "description .*",
        r"ip address [0-9.]+/\d+",
        r"ipv6 address [0-9a-f:]+/\d+",
        r"neighbor [^\s%]+ peer group \S+",
        r"neighbor [^\s%]+ remote-as \d+",
        r"neighbor [^\s%]+ description .*",
    )
)


class _LineKind:
    """Sections with equal meaning of their lines; ``known`` are their lines already found accounted for."""

    def __init__(self, patterns: Collection[str], *, is_counted: bool) -> None:
        self.known = {"", "   !", "      !"}
        self.is_counted = is_counted
        self._lines = re.compile("|".join(f"(?:{_LEVEL}(?:{pattern}))" for pattern in patterns) or "(?!)")
        varying = "|".join(sorted(_VARYING.intersection(patterns)))
        # it begins with the end of the line before: a search for a fixed text is much faster than one for beginnings
        self._varying = re.compile(rf"\n{_LEVEL}({varying})(?=\n)" if varying else "(?!)()")
        self._bodies: set[tuple[bool, str]] = set()

    def accounts_for(self, line: str) -> bool:
        if line in self.known:
            return True
        if self._lines.fullmatch(line) is None:
            return False
        if len(self.known) < _MOST and _TOGGLE.fullmatch(line) is None:
            self.known.add(line)
        return True

    def takes_in(self, section: EosSection) -> bool:
        """Whether all lines below a first line are accounted for.

        Of sections with different names and addresses alone, one is checked line by line.
        """
        parts = self._varying.split(f"\n{section.body}\n")
        if self.is_counted and len(set(parts[1::2])) < len(parts) // 2:
            return False
        common = "".join(parts[::2])
        remainder = section.header.startswith(_PORT), common
        if remainder not in self._bodies:
            if next(_unread([section.header, *common.split("\n")]), None) is not None:
                return False
            if len(self._bodies) < _MOST:
                self._bodies.add(remainder)
        return True


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
    headers: set[str] = set()
    for section in sections_of(text):
        kind, is_known = _kind_of(section.header)
        if not is_known or section.header in headers or (section.body and not kind.takes_in(section)):
            return False
        headers.add(section.header)
    return True


def _unread(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Number, the line of the margin above, and the line itself; "" above at the margin or without one."""
    kind, header, queue = _NOWHERE, "", ""
    headers: set[str] = set()
    seen: set[str] = set()
    for index, line in enumerate(lines):
        if line in kind.known and not kind.is_counted:
            continue
        if line[:1] == "!":
            kind, header = _NOWHERE, ""
        elif line[:1] not in (" ", "\t", ""):
            kind, is_known = _kind_of(line)
            if not is_known or line in headers:
                yield index + 1, "", line
            headers.add(line)
            header, queue, seen = line, "", set()
        elif not kind.accounts_for(line):
            if line.strip() and not (_OWN_QOS.accounts_for(line) and _has_no_profile(lines, index, header)):
                yield index + 1, header, line
        else:
            queue = line if _QUEUE.fullmatch(line) else queue
            once = _once(line, queue, is_counted=kind.is_counted)
            if once in seen:
                yield index + 1, header, line
            seen.add(once or f"{index}")


def _once(line: str, queue: str, *, is_counted: bool) -> str:
    """A section's setting that may occur once, "" for other lines; ``queue`` is its queue."""
    if (toggle := _TOGGLE.fullmatch(line)) is not None:
        return toggle[1]
    if (one := _ONE.match(line)) is not None:
        return f"{queue}{one[0]}"
    return line if is_counted and line.strip(" !") and not line.startswith(_LEVEL * 2) else ""


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
    kinds = tuple(number for number, (begins, _) in enumerate(_TABLE) if begins.fullmatch(header))
    return _kind(kinds), bool(kinds)


@lru_cache(maxsize=1024)
def _kind(entries: tuple[int, ...]) -> _LineKind:
    patterns = list(chain.from_iterable(_TABLE[number][1] for number in entries))
    is_counted = any(pattern.startswith((_LEVEL, *_COUNTED)) for pattern in patterns)
    return _LineKind(patterns, is_counted=is_counted)


@lru_cache(maxsize=1024)
def _claims(header: str) -> frozenset[str]:
    return next((claims for begins, claims in CLAIMS if re.fullmatch(begins, header)), frozenset())


def _patterns(lines: str) -> tuple[str, ...]:
    return tuple(line for line in lines.split("\n") if line)


_TABLE = tuple(
    (re.compile(begins), _patterns(lines)) for begins, lines in (*READ, *((b, lines) for b, lines, _ in IDLE))
)
_NOWHERE = _LineKind((), is_counted=False)
_OWN_QOS = _LineKind(_patterns(QOS), is_counted=False)
