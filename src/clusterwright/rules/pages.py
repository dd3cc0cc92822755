"""The rule catalogue: one Markdown page per code, and an index.

The text above a page's examples is written by hand on the page, its only place. The rest of the page, and the index,
are generated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from clusterwright import data_files
from clusterwright.finding import Severity

if TYPE_CHECKING:
    from clusterwright.rules.rule import LintRule

_MAX_OUTPUT = 30
_FIX = "**To fix it:** "
_REFUSED = "## What is refused"


@dataclass(frozen=True, slots=True)
class RuleText:
    """The sentences of a rule's page, in Markdown; ``docs`` may hold several paragraphs."""

    title: str
    why: str
    fix: str
    docs: str = ""


@cache
def text_of(code: str) -> RuleText:
    """The text above the examples on the page of ``code``.

    Raises FileNotFoundError without a page, ValueError without a paragraph.
    """
    page = (data_files.folder("docs") / "rules" / f"{code}.md").read_text(encoding="utf-8")
    title, _, why, fix, *docs = page.partition(f"\n\n{_REFUSED}\n")[0].rstrip().split("\n\n")
    return RuleText(
        title=title.removeprefix(f"# {code}: "), why=why, fix=fix.removeprefix(_FIX), docs="\n\n".join(docs)
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A spec or settings breaking the rule, the output of ``clusterwright lint``, and a spec keeping it."""

    bad: str
    output: str
    good: str
    kind: str = "yaml"


_CHECKING = (
    "An error hides no other finding: lint checks everything that the error leaves readable. A rule that depends on a"
    " value in doubt is listed beside that error as not checked, in every format. Suppressing a finding changes what is"
    " shown, never what is checked; errors that leave values in doubt, or no plan, cannot be suppressed."
)


def page(rule: LintRule, example: Example) -> str:
    """The page of ``rule``, as ``clusterwright explain`` prints it."""
    parts = [
        f"# {rule.code}: {rule.text.title}",
        f"{rule.severity.label.capitalize()}, {rule.family}.",
        rule.text.why,
        f"{_FIX}{rule.text.fix}",
        rule.text.docs,
        _REFUSED,
        _code(example.kind, example.bad),
        _code("text", _shortened(example.output)),
        "## What passes",
        _code(example.kind, example.good),
        "## When to ignore it",
        _ignoring(rule),
        f"Read more: {rule.topic}." if rule.topic else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _ignoring(rule: LintRule) -> str:
    """The way to accept a finding, and its place."""
    if rule.is_suppressible:
        return (
            "Where you know the consequence and accept it: write why at the end of the line, after"
            f" `# clusterwright: ignore[{rule.code}]`."
        )
    if rule.severity == Severity.NOTE:
        return "Never: the note accompanies each result that it affects, and stops no command."
    return "Never: without the fix nothing that depends on this value can be checked or deployed."


def index(rules: Iterable[LintRule]) -> str:
    """The table of all rules."""
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.severity.label} | {rule.text.title} | {rule.family} |"
        for rule in rules
    ]
    head = "| code | severity | what is wrong | family |\n| --- | --- | --- | --- |"
    about = "What `clusterwright lint` looks for. `clusterwright explain CODE` prints a page."
    return "\n".join(["# Rules", "", about, "", _CHECKING, "", head, *rows, ""])


def _shortened(output: str) -> str:
    """``output`` without its middle, if it is long."""
    lines = output.splitlines()
    if len(lines) <= _MAX_OUTPUT:
        return output
    half = _MAX_OUTPUT // 2
    return "\n".join([*lines[:half], "...", *lines[-half:]])


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
