"""The chapters on claims: published figures beside planned ones, findings, assumptions."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from clusterwright.finding import Finding, Severity
from clusterwright.report.page import Block, Cell, PageTable, Section, code, figure
from clusterwright.spec.text.document import format_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import Expectation, SpecException
    from clusterwright.spec.text.document import Path

_SEVERITY_STYLE = {Severity.ERROR: "bad", Severity.WARNING: "warning", Severity.NOTE: "quiet"}


def is_met(expectation: Expectation, planned: float | None) -> bool:
    """Whether a planned figure lies within the expectation's relative tolerance, apart from rounding errors."""
    return planned is not None and expectation.is_met(planned)


def expectations_section(plan: Plan, planned: Mapping[str, float]) -> Section:
    """Expected and planned figures, with the source or the reason of each."""
    rows = []
    for expectation in plan.spec.expectations:
        value = planned.get(expectation.figure)
        if expectation.tolerance:
            tolerance = f"± {expectation.tolerance * 100:g} %"
        else:
            tolerance = "exact" if expectation.value is not None else ""
        rows.append(
            (
                code(expectation.figure),
                figure(expectation.value) if expectation.value is not None else Cell(expectation.words, "number"),
                Cell(tolerance, "number"),
                Cell("not in the plan", "number") if value is None else figure(value),
                Cell("met", "good") if is_met(expectation, value) else Cell("not met", "bad"),
                Cell(expectation.source or f"assumed: {expectation.assumed}"),
            )
        )
    table = PageTable(
        name="expectation-list",
        caption="Expected, and counted in the plan",
        columns=("Figure", "Expected", "Tolerance", "Planned", "Result", "Source"),
        rows=tuple(rows),
        note="Planned figures are counted device by device and cable by cable, not multiplied.",
    )
    return Section(
        "expectations", "Expected figures beside the plan", (Block(heading="", text="", drawings=(), tables=(table,)),)
    )


def findings_section(findings: tuple[Finding, ...]) -> Section:
    """The findings of lint."""
    if not findings:
        return Section("findings", "Findings", (Block("", "Lint has nothing to say about this spec."),))
    counts = Counter(finding.severity for finding in findings)
    text = ", ".join(f"{counts[severity]:,} × {severity.label}" for severity in sorted(counts, reverse=True))
    table = PageTable(
        name="finding-list",
        caption="Findings",
        columns=("Severity", "Rule", "Place", "What is wrong", "How to fix it"),
        rows=tuple(_finding_row(finding) for finding in findings),
    )
    return Section("findings", "Findings", (Block(heading="", text=text, drawings=(), tables=(table,)),))


def _finding_row(finding: Finding) -> tuple[Cell, ...]:
    return (
        Cell(finding.severity.label, _SEVERITY_STYLE[finding.severity]),
        code(finding.code),
        code(str(finding.position)),
        Cell(finding.message),
        Cell(finding.hint),
    )


def exceptions_section(plan: Plan) -> Section:
    """Exceptions of the spec: drained switches, ports out of service, other images, further lines."""
    added = _added_config(plan)
    if not plan.spec.exceptions:
        return Section("exceptions", "Exceptions", (Block("", "Everything is in service and as its group is."), *added))
    rows = tuple(_exception_row(exception) for exception in plan.spec.exceptions)
    table = PageTable(
        name="exception-list",
        caption="What differs from its group",
        columns=("Where", "Port", "State", "Image", "Until", "Reason"),
        rows=rows,
    )
    return Section("exceptions", "Exceptions", (Block(heading="", text="", drawings=(), tables=(table,)), *added))


def _exception_row(exception: SpecException) -> tuple[Cell, ...]:
    return (
        code(exception.device or exception.group or ""),
        code(exception.port or "–"),
        Cell(exception.state or "–"),
        Cell(exception.image or "–"),
        Cell(str(exception.until or "–")),
        Cell(exception.reason),
    )


def _added_config(plan: Plan) -> tuple[Block, ...]:
    """Handwritten lines for switches with their reasons, and their unread lines with the reason in the spec."""
    rows = []
    for added in plan.spec.extra_config:
        reasons = [f"{unread.line.strip()}: {unread.because}" for unread in added.unread]
        rows.append(
            (
                code(added.device or added.role or added.fabric or ""),
                code(added.file or "–"),
                code("; ".join(added.lines) or json.dumps(added.merge)),
                Cell(added.reason),
                Cell("; ".join(reasons) or "–"),
            )
        )
    if not rows:
        return ()
    heads = ("Where", "File", "What", "Reason", "Vouched for")
    table = PageTable(
        name="extra-config", caption="Configuration beyond what is derived", columns=heads, rows=tuple(rows)
    )
    return (Block(heading="", text="", drawings=(), tables=(table,)),)


def assumptions_section(plan: Plan) -> Section:
    """Everything marked as assumed, with its reason: in the spec, and in the used catalogue entries."""
    data = plan.spec.document.data
    rows = [(Cell("spec"), code(place), Cell(reason)) for place, reason in _assumed_in(data, (), data)]
    for name in dict.fromkeys(device.model for device in plan.devices):
        rows += [(Cell("catalogue"), code(name), Cell(reason)) for reason in plan.spec.catalogue[name].assumed]
    if not rows:
        return Section("assumptions", "Assumptions", (Block("", "Nothing in the spec or its hardware is assumed."),))
    table = PageTable(
        name="assumption-list",
        caption="Assumptions",
        columns=("Where", "Of what", "Assumed, and why"),
        rows=tuple(rows),
    )
    return Section("assumptions", "Assumptions", (Block(heading="", text="", drawings=(), tables=(table,)),))


def _assumed_in(value: Any, path: Path, data: Any) -> Iterator[tuple[str, str]]:
    """Every ``assumed:`` in the spec's document, depth first: the place and the reason."""
    if isinstance(value, dict):
        reason = value.get("assumed")
        if isinstance(reason, str):
            yield format_path(path, data) or "the cluster", reason
        for key, item in value.items():
            yield from _assumed_in(item, (*path, key), data)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _assumed_in(item, (*path, index), data)
