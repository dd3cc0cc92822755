"""Two mistakes in one spec: the overlay of one failing example laid over that of another one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from clusterwright.finding import SpecError
from clusterwright.rules.engine import LintResult, lint_document
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.extends import merge, read_spec_document
from clusterwright.spec.text.reader import read_document

EXAMPLES = Path(__file__).parent / "examples"
DAY = date(2026, 1, 1)
_BASE = re.compile(r"^extends: +\S*/(lab-\S+\.yaml)$", re.MULTILINE)


def overlays() -> Iterator[tuple[str, str, Path]]:
    """Code, base and file of each failing example that is laid over a spec of the inventory."""
    for file in sorted(EXAMPLES.glob("CW*/bad.yaml")):
        if base := _BASE.search(file.read_text(encoding="utf-8")):
            yield file.parent.name, base[1], file


def laid_over(above: Path, below: Path) -> Document | None:
    """The spec with both mistakes; None where the files cannot be merged at all."""
    try:
        overlay = read_document(above)
        data = {key: value for key, value in overlay.data.items() if key != "extends"}
        return merge(read_spec_document(below), replace(overlay, data=data))
    except SpecError:
        return None


def named(result: LintResult) -> set[str]:
    """The codes that a result speaks of: found, suppressed, or not judged."""
    return (
        {finding.code for finding in result.findings}
        | {item.finding.code for item in result.suppressed}
        | {code for item in result.not_judged for code in item.codes}
    )


def still_there(code: str, alone: LintResult, both: Document) -> bool:
    """Whether a finding of ``code`` that the lower file has ``alone`` stands at the same words in the spec of both."""
    return any(
        finding.code == code and finding.place and both.locate(finding.place) == alone_at
        for finding in alone.findings
        for alone_at in (finding.position,)
    )


def judged(document: Document) -> LintResult:
    """What lint says on the day of the examples."""
    return lint_document(document, DAY)
