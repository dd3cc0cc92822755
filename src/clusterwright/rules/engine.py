"""Linting: reading, schema, references and rules, one stage after the other.

All findings of a stage are shown together, and a stage runs only when those before it found no error: a rule may rely
on what the schema promises.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import Rule, Stage, Subject
from clusterwright.rules.suppression import Suppressed, suppress
from clusterwright.spec.document import Document, format_path
from clusterwright.spec.extends import read_spec_document
from clusterwright.spec.hardware_load import load_models
from clusterwright.spec.load import load_spec, load_spec_document
from clusterwright.spec.reader import read_document
from clusterwright.spec.schema import check

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from clusterwright.spec.model import ClusterSpec

HARDWARE, SYSTEM = "hardware", "system"
# What a spec names must exist: later rules rely on it, so these findings cannot be suppressed.
REFERENCES = "CW1"


@dataclass(frozen=True, slots=True)
class LintResult:
    """Findings in the order of the files, those that a comment suppressed, and the files that were read."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    files: tuple[str, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)


def lint_path(path: FilePath | str, day: date | None = None) -> LintResult:
    """Lints one file: a cluster spec, a hardware catalogue (``kind: hardware``, or any file in a folder hardware/) or
    what a switch system can be told (``kind: system``, or any file in a folder systems/).

    Reads ``path`` and the files it extends; raises nothing that the content of a file could cause.
    """
    try:
        document = read_document(path)
        if document.data.get("kind") == HARDWARE or FilePath(path).absolute().parent.name == HARDWARE:
            return LintResult(tuple(_lint_hardware(document)), (), document.files)
        if document.data.get("kind") == SYSTEM or FilePath(path).absolute().parent.name == "systems":
            return LintResult(tuple(check(document, SYSTEM)), (), document.files)
        document = read_spec_document(path)
    except SpecError as error:
        return LintResult(error.findings, (), (str(path),))
    return lint_document(document, day)


def lint_paths(paths: Iterable[FilePath | str], day: date | None = None) -> LintResult:
    """Lints several files on a ``day``; what is wrong with a file that several extend is said once."""
    results = [lint_path(path, day) for path in paths]
    return LintResult(
        tuple(sorted({finding for result in results for finding in result.findings}, key=Finding.sort_key)),
        tuple(dict.fromkeys(suppressed for result in results for suppressed in result.suppressed)),
        tuple(dict.fromkeys(file for result in results for file in result.files)),
    )


def load_sound(path: FilePath | str) -> ClusterSpec:
    """The cluster spec at ``path``, in which lint finds no error. Raises SpecError with the errors otherwise."""
    if errors := lint_path(path).errors:
        raise SpecError(errors)
    return load_spec(path)


def lint_document(document: Document, day: date | None = None) -> LintResult:
    """Lints a cluster spec that has been read, as things stand on ``day``; None judges no date."""
    findings = check(document, "cluster")
    if _has_error(findings):
        return LintResult(tuple(findings), (), document.files)
    try:
        spec = load_spec_document(document)
    except SpecError as error:
        return LintResult(error.findings, (), document.files)
    rules = all_rules()
    subject = Subject(spec, day)
    found = list(findings)
    judged: set[str] = set()
    for stage in Stage:
        if not _has_error(found):
            of_stage = [rule for rule in rules.values() if rule.stage is stage]
            found += run_rules(subject, of_stage)
            judged |= {rule.code for rule in of_stage}
    suppressible = frozenset(code for code, rule in rules.items() if rule.check and not code.startswith(REFERENCES))
    kept, suppressed = suppress(found, document, suppressible, frozenset(judged))
    return LintResult(tuple(sorted(kept, key=Finding.sort_key)), suppressed, document.files)


def run_rules(subject: Subject, rules: Iterable[Rule]) -> list[Finding]:
    """What ``rules`` object to in ``subject``, in the order of the file, each with its position in the spec."""
    document = subject.spec.document
    findings = [
        Finding(
            rule.code,
            rule.severity,
            problem.message,
            problem.hint,
            problem.position or document.locate(problem.path, key=problem.key),
            format_path(problem.path, document.data),
        )
        for rule in rules
        if rule.check
        for problem in rule.check(subject)
    ]
    return sorted(findings, key=Finding.sort_key)


def _lint_hardware(document: Document) -> list[Finding]:
    findings = check(document, HARDWARE)
    if _has_error(findings):
        return findings
    _, objections = load_models(document)
    return sorted([*findings, *objections], key=Finding.sort_key)


def _has_error(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
