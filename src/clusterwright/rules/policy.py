"""A project's changes of the rules: other severities, accepted findings, additional rules.

All of it is applied after all checks: it decides what is shown, never what is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from clusterwright.finding import Finding, Severity
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import LintRule
from clusterwright.rules.suppression import Suppressed


@dataclass(frozen=True)
class Policy:
    """A project's additions to the rules, and its changes of them, by code."""

    project_rules: Mapping[str, LintRule] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Reasons for ignoring a rule's findings."""
    selected: tuple[str, ...] | None = None
    """Prefixes of the codes to run; None for all rules."""
    file: str = ""
    """The file with these settings."""

    @cached_property
    def rules(self) -> Mapping[str, LintRule]:
        """Every rule to check, in the order of the codes."""
        if not self.project_rules:
            return all_rules()
        return MappingProxyType(dict(sorted({**all_rules(), **self.project_rules}.items())))

    def accept(self, findings: Iterable[Finding]) -> tuple[list[Finding], tuple[Suppressed, ...]]:
        """Divide ``findings`` into kept ones, with the project's severities, and ignored ones."""
        kept: list[Finding] = []
        accepted: list[Suppressed] = []
        for finding in findings:
            if finding.code in self.ignored:
                accepted.append(Suppressed(finding, self.ignored[finding.code], self.file))
            else:
                severity = self.severities.get(finding.code, finding.severity)
                kept.append(finding if severity is finding.severity else replace(finding, severity=severity))
        return kept, tuple(accepted)

    def selects(self, finding: Finding) -> bool:
        """Whether the project selects ``finding``; a finding that cannot be accepted is always selected."""
        if self.selected is None or not self.rules[finding.code].is_suppressible:
            return True
        return finding.code.startswith(self.selected)


AS_WRITTEN = Policy()  # the rules without a project's changes
