"""Findings as text: position, message, the line with a caret under the place, and a hint."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, TextIO

from clusterwright.cli.terminal import visible
from clusterwright.finding import Finding, Severity
from clusterwright.rules.releases import is_newer_than

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult, NotJudged

# The line of a file by number; None for an unreadable file.
SourceLine = Callable[[str, int], str | None]

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;36m"}
_MAX_WIDTH = 160
_MAX_COLUMNS = 112
# Findings without an excerpt: secrets in plain text, which an excerpt would copy into logs; and files that must not be
# read, also through a link in place of the settings.
_NOT_SHOWN = frozenset({"CW555", "CW161", "CW162"})
_WORD = re.compile(r""""[^"]*"|'[^']*'|[^\s,:\[\]{}#]+""")


def render_text(
    result: LintResult,
    source_line: SourceLine,
    *,
    colour: bool = False,
    quiet: bool = False,
    statistics: bool = False,
    since: str = "",
    not_judged: bool = False,
) -> str:
    """All findings, the number of skipped rules, and a last line with all counts.

    With ``statistics`` findings are counted by code; with ``not_judged`` skipped rules are listed; with ``quiet`` the
    last line is left out. ``colour`` adds escapes for a terminal. With ``since`` the findings of rules newer than this
    version come last, under a heading of their own. Raises ClusterwrightError for an invalid version.
    """
    if statistics:
        lines = list(_statistics(result))
        if not quiet:
            lines.append(_summary(result))
        return "".join(f"{line}\n" for line in lines)
    newer = [finding for finding in result.findings if since and is_newer_than(finding.code, since)]
    earlier = [finding for finding in result.findings if finding not in newer]
    blocks = [_block(finding, source_line, colour) for finding in earlier]
    if newer:
        blocks.append(f"{len(newer)} findings of rules that {since} did not have, each with what to change:\n")
        blocks += [_block(finding, source_line, colour) for finding in newer]
    if not_judged:
        blocks += [_unjudged(item, colour) for item in result.not_judged]
    elif result.not_judged:
        blocks.append(_unjudged_count(result.not_judged))
    if not quiet:
        blocks.append(_summary(result))
    return "".join(f"{block}\n" for block in blocks)


def _statistics(result: LintResult) -> list[str]:
    """A line for each code with findings: their number and an example, the most frequent first."""
    counts = Counter(finding.code for finding in result.findings)
    first = {finding.code: finding for finding in reversed(result.findings)}
    return [
        f"{count:6}  {code}  {first[code].severity.label:7}  {visible(first[code].message)}"
        for code, count in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    ]


def wants_colour(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal with colours not disabled (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _place(finding: Finding) -> tuple[str, int]:
    return finding.position.file, finding.position.line


def _block(finding: Finding, source_line: SourceLine, colour: bool) -> str:
    line = None if finding.code in _NOT_SHOWN else source_line(*_place(finding))
    severity = finding.severity.label
    position = visible(str(finding.position))
    if colour:
        severity = f"{_COLOURS[finding.severity]}{severity}{_RESET}"
        position = f"{_BOLD}{position}{_RESET}"
    rows = [f"{position}: {severity} {finding.code}: {visible(finding.message)}"]
    if line is not None and line.strip():
        rows += _excerpt(finding, line)
    rows.append(f"    = {visible(finding.hint)}")
    return "\n".join(rows) + "\n"


def _unjudged_count(items: Sequence[NotJudged]) -> str:
    """A line with the number of skipped rules: few readers need every code while there are errors."""
    because = sorted({item.because.code for item in items})
    rules = set(chain.from_iterable(item.codes for item in items))
    count = f"{len(rules)} rules were not checked"
    if any(item.is_everything for item in items):
        count = "no rule was checked"
    return f"Because of {', '.join(because)}, {count}: `clusterwright lint --not-judged` lists them.\n"


def _unjudged(item: NotJudged, colour: bool) -> str:
    position = visible(str(item.because.position))
    if colour:
        position = f"{_BOLD}{position}{_RESET}"
    listed = "    every rule"
    if not item.is_everything:
        listed = fill(", ".join(item.codes), _MAX_COLUMNS, initial_indent="    ", subsequent_indent="    ")
    return f"{position}: not checked because of this {item.because.code}:\n{listed}\n"


def _excerpt(finding: Finding, line: str) -> Sequence[str]:
    column = min(finding.position.column - 1, len(line))
    begin = max(0, column - _MAX_WIDTH // 2) if len(line) > _MAX_WIDTH else 0
    shown = line[begin : begin + _MAX_WIDTH]
    word = _WORD.match(line, column)
    word_length = len(word[0]) if word else 1
    length = min(word_length, max(1, len(shown) - (column - begin)))
    before, marked = visible(line[begin:column].replace("\t", " ")), visible(line[column : column + length])
    number = str(finding.position.line)
    margin = " " * len(number)
    return (
        f"  {number} | {visible(shown.replace(chr(9), ' ')).rstrip()}",
        f"  {margin} | {' ' * _columns(before)}{'^' * max(1, _columns(marked))}",
    )


def _columns(text: str) -> int:
    """The width of ``text`` in terminal columns."""
    columns = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        columns += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return columns


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _summary(result: LintResult) -> str:
    counts = Counter(finding.severity for finding in result.findings)
    severities = [severity for severity in sorted(Severity, reverse=True) if counts[severity]]
    parts = [f"{counts[severity]} {_plural(severity.label, counts[severity])}" for severity in severities]
    files = f"{len(result.files)} {_plural('file', len(result.files))}"
    ignored = sum(1 for item in result.suppressed if item.settings)
    rules = len(set(chain.from_iterable(item.codes for item in result.not_judged)))
    rest = {
        "suppressed": len(result.suppressed) - ignored,
        "ignored by the settings": ignored,
        "not selected": result.unselected,
        f"{_plural('rule', rules)} not checked": rules,
        f"other YAML {_plural('file', len(result.skipped))} skipped": len(result.skipped),
    }
    other_counts = "".join(f", {count} {name}" for name, count in rest.items() if count)
    return f"{', '.join(parts) or 'no findings'} in {files}{other_counts}"
