"""Linting: reading, schema, typing and rules; checks everything possible, and reports the rest.

A finding that leaves values in doubt (refused by the schema, or an unknown name) closes these values to all rules. A
rule reading one stops there, and the result lists it with the finding in its way. Suppressions are applied after all
checks: they decide what is shown, never what is checked.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.plan.build import build_plan
from clusterwright.rules.own_rules import STOPPED
from clusterwright.rules.policy import AS_WRITTEN, Policy
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import LintRule, Problem, Subject
from clusterwright.rules.settings import settings_for
from clusterwright.rules.spec.unstated import findings_of
from clusterwright.rules.suppression import Suppressed, suppress
from clusterwright.spec.allocated.reading import read_allocated
from clusterwright.spec.hardware.consistency import load_models
from clusterwright.spec.load import ALLOCATED, load_spec, type_document
from clusterwright.spec.schema.check import check
from clusterwright.spec.schema.fence import FencedError, fence
from clusterwright.spec.schema.remainder import remainder
from clusterwright.spec.text.document import Document, format_path
from clusterwright.spec.text.extends import read_spec_document
from clusterwright.spec.text.reader import read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import ClusterSpec

HARDWARE, PLATFORMS = "hardware", "platforms"
# Kinds of data files checked by their schema alone, by folder.
_BY_FOLDER = {"systems": "system", "distributions": "distribution", "accelerators": "accelerator"}
# Codes reported while typing a spec, without its parts refused by the schema, and while typing a hardware catalogue.
_TYPING = "CW14"
_TYPING_HARDWARE = ("CW131",)


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Codes of rules that did not run, in order, and the error stopping them.

    ``is_everything`` for all codes there are: the spec could not be read at all.
    """

    codes: tuple[str, ...]
    because: Finding
    is_everything: bool = False


@dataclass(frozen=True, slots=True)
class LintResult:
    """Findings in the order of the files, and the omitted rules and files."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    """Findings accepted by a comment or the project's settings."""
    files: tuple[str, ...]
    """All files read."""
    not_judged: tuple[NotJudged, ...] = ()
    """Rules that did not run, each because of an error among the findings."""
    unselected: int = 0
    """Number of findings left out by ``select`` in the settings."""
    skipped: tuple[str, ...] = ()
    """Files of a folder other than specs."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)


def lint_path(path: FilePath | str, day: date | None = None, policy: Policy | None = None) -> LintResult:
    """Lint one file: a cluster spec, an allocation file or a data file.

    A data file is recognised by its ``kind`` or its folder: a hardware catalogue (``kind: hardware``, hardware/), a
    switch system (``kind: system``, systems/), a distribution or a vendor's accelerators likewise, or the port names of
    a system's machines (``kind: platforms``). An allocation file ends in ``.allocated.yaml``.

    Checked by ``policy``, or else by the settings of the file's project. Reads ``path``, the files it extends and these
    settings; raises nothing because of the content of a file.
    """
    return _lint_file(path, day, policy)[0]


def _lint_file(path: FilePath | str, day: date | None, policy: Policy | None) -> tuple[LintResult, Subject | None]:
    """The result of linting a file, and its subject if no value of the spec is in doubt."""
    try:
        policy = settings_for(FilePath(path)).policy if policy is None else policy
        if str(path).endswith(ALLOCATED):
            return LintResult(tuple(read_allocated(FilePath(path), str(path))[1]), (), (str(path),)), None
        document = read_document(path)
        if document.data.get("kind") == HARDWARE or FilePath(path).absolute().parent.name == HARDWARE:
            return _lint_hardware(document), None
        for folder, kind in _BY_FOLDER.items():
            if document.data.get("kind") == kind or FilePath(path).absolute().parent.name == folder:
                return LintResult(tuple(check(document, kind)), (), document.files), None
        if document.data.get("kind") == PLATFORMS:
            return LintResult(tuple(check(document, PLATFORMS)), (), document.files), None
        document = read_spec_document(path)
    except SpecError as error:
        return nothing_checked(error.findings, (str(path),)), None
    return lint_with_subject(document, day, policy)


def lint_paths(paths: Iterable[FilePath | str], day: date | None = None, policy: Policy | None = None) -> LintResult:
    """Lint several files on a ``day``, with the findings selected by their projects.

    A finding in a file extended by several of them is reported once.
    """
    results = [_selected(lint_path(path, day, policy), path, policy) for path in paths]
    return merged(results)


def _selected(result: LintResult, path: FilePath | str, policy: Policy | None) -> LintResult:
    """``result`` with only the findings selected by the project of ``path``."""
    try:
        policy = settings_for(FilePath(path)).policy if policy is None else policy
    except SpecError:
        return result  # has the error of the settings
    kept = tuple(filter(policy.selects, result.findings))
    return replace(result, findings=kept, unselected=len(result.findings) - len(kept))


def merged(results: Iterable[LintResult]) -> LintResult:
    """The results of several files as one."""
    findings: set[Finding] = set()
    suppressed: dict[Suppressed, None] = {}
    files: dict[str, None] = {}
    not_judged: dict[NotJudged, None] = {}
    unselected = 0
    for result in results:
        findings.update(result.findings)
        suppressed.update(dict.fromkeys(result.suppressed))
        files.update(dict.fromkeys(result.files))
        not_judged.update(dict.fromkeys(result.not_judged))
        unselected += result.unselected
    return LintResult(
        findings=tuple(sorted(findings, key=Finding.sort_key)),
        suppressed=tuple(suppressed),
        files=tuple(files),
        not_judged=tuple(not_judged),
        unselected=unselected,
    )


def load_sound(path: FilePath | str) -> ClusterSpec:
    """The cluster spec at ``path``, free of errors. Raises SpecError with the errors otherwise."""
    if errors := lint_path(path).errors:
        raise SpecError(errors)
    return load_spec(path)


def lint_and_plan(path: FilePath | str) -> tuple[LintResult, Plan]:
    """Lint the cluster spec at ``path``, and draw its plan, if possible.

    Reuses the plan drawn for the rules. Raises SpecError with the errors that leave no plan.
    """
    result, subject = _lint_file(path, None, None)
    if hopeless := [finding for finding in result.errors if _leaves_no_plan(finding)]:
        raise SpecError(hopeless)
    return result, build_plan(load_spec(path)) if subject is None else subject.plan


def _leaves_no_plan(finding: Finding) -> bool:
    """True if the finding prevents a plan: an unreadable spec, or a rule's finding that no comment accepts."""
    rule = all_rules().get(finding.code)  # a rule of a project prevents no plan
    return rule is not None and (rule.check is None or not rule.is_suppressible)


def lint_document(document: Document, day: date | None = None, policy: Policy = AS_WRITTEN) -> LintResult:
    """Lint a cluster spec already read, on ``day``; None checks no date."""
    return lint_with_subject(document, day, policy)[0]


def lint_with_subject(
    document: Document, day: date | None = None, policy: Policy = AS_WRITTEN
) -> tuple[LintResult, Subject | None]:
    """As ``lint_document``, with the spec and its plan if no value of the spec is in doubt."""
    schema = check(document, "cluster")
    rest = remainder(document, "cluster", schema)
    if rest is None:
        return nothing_checked(tuple(schema), document.files), None
    typed = type_document(rest.document)
    rules = policy.rules
    findings_so_far = [*schema, *typed.findings]
    unjudged = {code: rest.unread[0] for code in rules if code.startswith(_TYPING) and rest.unread}
    doubts = {finding.place: finding for finding in schema if finding.place} | dict(rest.taken) | dict(typed.doubts)
    spec = replace(typed.spec, document=document)
    subject = Subject(fence(spec, doubts), day)
    stopped: dict[str, Exception] = {}
    for rule in sorted(rules.values(), key=_turn):
        try:
            findings, obstacle = run_rule(subject, rule)
        except Exception as error:
            stopped[rule.code] = error
            continue
        findings_so_far += findings
        if obstacle is not None:
            unjudged[rule.code] = obstacle
            if obstacle.code == STOPPED:
                findings_so_far.append(obstacle)
        if rule.relied_on and findings:
            doubts |= {finding.place: finding for finding in findings}
            subject = Subject(fence(spec, doubts), day)
        if rule.leaves_no_plan and subject.no_plan is None and (findings or obstacle):
            subject = replace(subject, no_plan=next(iter(findings), obstacle))
    unjudged |= _stopped_by_errors(stopped, findings_so_far)
    suppressible = frozenset(code for code, rule in rules.items() if rule.is_suppressible)
    kept, suppressed = suppress(findings_so_far, document, suppressible, frozenset(rules.keys() - unjudged.keys()))
    kept, ignored = policy.accept(kept)
    accepted = (*suppressed, *ignored)
    result = LintResult(
        findings=tuple(sorted(kept, key=Finding.sort_key)),
        suppressed=accepted,
        files=document.files,
        not_judged=_by_cause(unjudged),
    )
    return result, subject if subject.spec is spec and subject.no_plan is None else None


def _stopped_by_errors(stopped: Mapping[str, Exception], findings: Iterable[Finding]) -> dict[str, Finding]:
    """The finding responsible for each rule stopped by an exception: the first error of the spec.

    Raises the exception itself for a spec without errors, and with CLUSTERWRIGHT_DEBUG=1.
    """
    errors = sorted((finding for finding in findings if finding.severity is Severity.ERROR), key=Finding.sort_key)
    for error in stopped.values():
        if not errors or os.environ.get("CLUSTERWRIGHT_DEBUG") == "1":
            raise error
    return dict.fromkeys(stopped, errors[0]) if stopped else {}


def _turn(rule: LintRule) -> tuple[bool, bool, str]:
    """Sort key of rules: those that can stop others come first."""
    return not rule.relied_on, not rule.leaves_no_plan, rule.code


def run_rule(subject: Subject, rule: LintRule) -> tuple[list[Finding], Finding | None]:
    """Run ``rule`` on ``subject``: its findings with their positions, and the finding stopping it, if any."""
    findings: list[Finding] = []
    if rule.check is None:
        return findings, None
    try:
        for problem in rule.check(subject):
            finding = _finding(subject.spec.document, rule, problem)
            findings.append(finding)
    except FencedError as fenced:
        return findings, fenced.finding
    return findings, None


def _finding(document: Document, rule: LintRule, problem: Problem) -> Finding:
    return Finding(
        code=rule.code,
        severity=rule.severity,
        message=problem.message,
        hint=problem.hint,
        position=problem.position or document.locate(problem.path, key=problem.key),
        path=format_path(problem.path, document.data),
        place=problem.path,
        amendment=problem.amendment,
        instead=problem.instead,
    )


def nothing_checked(findings: tuple[Finding, ...], files: tuple[str, ...]) -> LintResult:
    """The result for a spec without a checkable part."""
    codes = tuple(code for code, rule in all_rules().items() if rule.check or code.startswith(_TYPING))
    return LintResult(
        findings=findings, suppressed=(), files=files, not_judged=(NotJudged(codes, findings[0], is_everything=True),)
    )


def _by_cause(unjudged: Mapping[str, Finding]) -> tuple[NotJudged, ...]:
    """Codes of rules that did not run, by the finding stopping them, in the order of the file."""
    causes: dict[Finding, list[str]] = defaultdict(list)
    for code, finding in sorted(unjudged.items()):
        causes[finding].append(code)
    return tuple(NotJudged(tuple(causes[finding]), finding) for finding in sorted(causes, key=Finding.sort_key))


def _lint_hardware(document: Document) -> LintResult:
    findings = check(document, HARDWARE)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        return LintResult(
            findings=tuple(findings),
            suppressed=(),
            files=document.files,
            not_judged=(NotJudged(_TYPING_HARDWARE, errors[0]),),
        )
    _, objections = load_models(document)
    ordered = sorted([*findings, *objections, *findings_of(document)], key=Finding.sort_key)
    return LintResult(tuple(ordered), (), document.files)
