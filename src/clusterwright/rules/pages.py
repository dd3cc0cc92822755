"""The rule catalogue: one Markdown page per code, and an index. The pages under docs/rules are made of this."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clusterwright.rules.rule import LintRule

_MAX_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class Example:
    """A spec, or settings, that break the rule, what ``clusterwright lint`` says of them, and such as do not."""

    bad: str
    output: str
    good: str
    kind: str = "yaml"


_JUDGING = (
    "An error hides no other finding: whatever it leaves readable is judged. A rule that would have to read what an"
    " error leaves in doubt is named beside that error as not judged, in every format. Suppressing a finding changes"
    " what is shown, never what is judged; errors that leave values in doubt, or no plan, cannot be suppressed."
)


def page(rule: LintRule, example: Example) -> str:
    """The page of ``rule``, as ``clusterwright explain`` prints it."""
    parts = [
        f"# {rule.code}: {rule.title}",
        f"{rule.severity.label.capitalize()}, {rule.family}.",
        rule.why,
        f"**To mend it:** {rule.mend}",
        rule.docs,
        "## What is refused",
        _code(example.kind, example.bad),
        _code("text", _shortened(example.output)),
        "## What passes",
        _code(example.kind, example.good),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def index(rules: Iterable[LintRule]) -> str:
    """The table of all rules."""
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.severity.label} | {rule.title} | {rule.family} |" for rule in rules
    ]
    return "\n".join(
        [
            "# Rules",
            "",
            "What `clusterwright lint` looks for. `clusterwright explain CODE` prints a page.",
            "",
            _JUDGING,
            "",
            "| code | severity | what is wrong | family |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _shortened(output: str) -> str:
    """``output`` without its middle where it is longer than anybody reads."""
    lines = output.splitlines()
    if len(lines) <= _MAX_OUTPUT:
        return output
    half = _MAX_OUTPUT // 2
    return "\n".join([*lines[:half], "...", *lines[-half:]])


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
