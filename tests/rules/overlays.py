"""Lab specs with something laid over them, and what lint says of the result."""

from __future__ import annotations

import shutil
from pathlib import Path

from clusterwright import data_files
from clusterwright.finding import Finding
from clusterwright.rules.engine import lint_path

INVENTORY = data_files.folder("inventory")


def findings_of(folder: Path, text: str, base: str | None = None) -> tuple[Finding, ...]:
    """The findings in ``text``, laid over the inventory's ``base`` where one is named."""
    file = folder / "spec.yaml"
    if base is not None:
        shutil.copy(INVENTORY / f"{base}.yaml", folder / "base.yaml")
        text = f"extends: base.yaml\n{text}"
    file.write_text(text)
    return lint_path(file).findings


def codes(findings: tuple[Finding, ...]) -> list[str]:
    """The codes, each once, in order."""
    return sorted({finding.code for finding in findings})
