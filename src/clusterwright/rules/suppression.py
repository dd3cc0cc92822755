"""Suppressions: comments accepting a finding on their line, with a reason.

``# clusterwright: ignore[CW203] the last rack is wired by hand`` on the line of the finding, or alone on the line
before it. A suppression without a reason has no effect and is itself a finding (CW120), as are an unneeded one (CW121)
and one of an unknown or not suppressible code (CW122).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clusterwright.finding import Finding, Position, Severity
from clusterwright.nearest_name import did_you_mean_code
from clusterwright.spec.text.document import Document

_COMMENT = re.compile(r"clusterwright:\s*ignore\b\s*(?:\[(?P<codes>[^\]]*)\])?(?P<reason>.*)")
_MIN_REASON = 3


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding accepted by a comment or by the ``settings`` file of the project, and the reason."""

    finding: Finding
    reason: str
    settings: str = ""


@dataclass(frozen=True, slots=True)
class _Suppression:
    codes: tuple[str, ...]
    reason: str
    comment: Position
    line: int  # the line of the findings it accepts


def suppress(
    findings: Iterable[Finding], document: Document, suppressible: frozenset[str], checked: frozenset[str]
) -> tuple[list[Finding], tuple[Suppressed, ...]]:
    """Divide ``findings`` into kept ones and those accepted by a comment of ``document``.

    Findings about the comments themselves are added to the kept ones. Only comments of the document's own file are
    checked: a file it extends is linted by itself. ``suppressible`` are the codes open to suppression, and ``checked``
    the codes of rules that have run: without running a rule, whether its suppression is needed is unknown.
    """
    suppressions = list(_suppressions(document))
    kept: list[Finding] = []
    accepted: list[Suppressed] = []
    used: set[tuple[Position, str]] = set()
    for finding in findings:
        match = next((item for item in suppressions if _accepts(item, finding, suppressible)), None)
        if match is None:
            kept.append(finding)
        else:
            accepted.append(Suppressed(finding, match.reason))
            used.add((match.comment, finding.code))
    for item in suppressions:
        if item.comment.file == document.file:
            kept += _objections(
                item, suppressible, checked - {code for comment, code in used if comment == item.comment}
            )
    return kept, tuple(accepted)


def _accepts(item: _Suppression, finding: Finding, suppressible: frozenset[str]) -> bool:
    here = (finding.position.file, finding.position.line)
    return (
        (item.comment.file, item.line) == here
        and finding.code in item.codes
        and finding.code in suppressible
        and len(item.reason) >= _MIN_REASON
    )


def _suppressions(document: Document) -> Iterator[_Suppression]:
    positions = (*document.values.values(), *document.keys.values())
    occupied = {(position.file, position.line) for position in positions}
    for (file, line), text in document.comments.items():
        match = _COMMENT.match(text)
        if match is None:
            continue
        spoken_of = line
        # A comment alone on its line, perhaps one of several, applies to the line after them.
        while (file, spoken_of) not in occupied and (file, spoken_of) in document.comments:
            spoken_of += 1
        codes = tuple(dict.fromkeys(code for code in re.split(r"[\s,]+", match["codes"] or "") if code))
        yield _Suppression(
            codes=codes, reason=match["reason"].strip(" \t:-"), comment=Position(file, line, 1), line=spoken_of
        )


def _objections(item: _Suppression, suppressible: frozenset[str], unneeded: frozenset[str]) -> Iterator[Finding]:
    if not item.codes:
        yield Finding(
            code="CW122",
            severity=Severity.ERROR,
            message="This suppression names no code, so that it suppresses nothing.",
            hint="Name the finding: `# clusterwright: ignore[CW203] reason`.",
            position=item.comment,
        )
        return
    for code in item.codes:
        if code not in suppressible:
            suggestion = did_you_mean_code(code, sorted(suppressible))
            yield Finding(
                code="CW122",
                severity=Severity.ERROR,
                message=f'"{code}" is no rule that can be suppressed.',
                hint=f"{suggestion} `clusterwright explain` lists the rules.".lstrip(),
                position=item.comment,
            )
        elif len(item.reason) >= _MIN_REASON and code in unneeded:
            yield Finding(
                code="CW121",
                severity=Severity.WARNING,
                message=f"Nothing on line {item.line} needs the suppression of {code}.",
                hint="Remove it, or move it to the line of the finding.",
                position=item.comment,
            )
    if len(item.reason) < _MIN_REASON:
        yield Finding(
            code="CW120",
            severity=Severity.ERROR,
            message="This suppression gives no reason, so that it cannot be reviewed.",
            hint=f"Write the reason after the bracket: `# clusterwright: ignore[{', '.join(item.codes)}] reason`.",
            position=item.comment,
        )
