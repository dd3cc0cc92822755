"""Lab specs with something laid over them, and what lint says of the result."""

from __future__ import annotations

import shutil
from pathlib import Path

from clusterwright import data_files
from clusterwright.finding import Finding
from clusterwright.rules.engine import lint_path

UNTRIED = "CW176"
INVENTORY = data_files.folder("inventory")


def findings_of(folder: Path, text: str, base: str | None = None) -> tuple[Finding, ...]:
    """The findings in ``text``, laid over the inventory's ``base`` where one is named.

    Notes on choices that are untried are left out: many bases have some, and none is a mistake.
    """
    file = folder / "spec.yaml"
    if base is not None:
        shutil.copy(INVENTORY / f"{base}.yaml", folder / "base.yaml")
        text = f"extends: base.yaml\n{text}"
    file.write_text(text)
    return tuple(finding for finding in lint_path(file).findings if finding.code != UNTRIED)


def codes(findings: tuple[Finding, ...]) -> list[str]:
    """The codes, each once, in order."""
    return sorted({finding.code for finding in findings})
