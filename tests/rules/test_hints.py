"""Hints that say word for word what to write are followed: the finding goes, and nothing worse takes its place."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rules.overlays import findings_of
from tests.rules.pairs import EXAMPLES, judged

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.rules.engine import LintResult
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.extends import read_spec_document

# Words that a hint leaves to its reader: ZONE, TEAM, `{secret: ...}`.
_LEFT_OPEN = re.compile(r"\.\.\.|\b[A-Z]{3,}\b")
_SNIPPET = re.compile(r"`(\w+): ([^`]+)`")

# A figure that the example promises counts what the hint changes.
_PROMISED = "CW203"
# Hints whose words name another place than the finding's, or a choice, and the reason.
NOT_LITERAL = {
    "CW112": "the quotes are taken away, not the value",
    "CW107": "parts and settings that fit them are one decision: CW109 names each setting",
    "CW144": "the name is inside a file that the spec names",
    "CW223": "the hint names two tiers, and the finding stands at the speed of one",
    "CW234": "the name is inside a file that the spec names",
    "CW415": "the snippet lists keys without values",
    "CW419": "the key of a mapping of variables is renamed, not its value",
    "CW428": "what goes is one package of the list",
    "CW533": "the hint names the zone, and the finding stands at the promise",
    "CW627": "the hint names the fabric's addressing, and the finding stands at the boot fabric",
    "CW640": "the hint names the image, and the finding stands at the model of its nodes",
}

Edit = Callable[[dict[str, Any], Finding], bool]


def value_at(data: Any, place: tuple[str | int, ...]) -> Any:
    """What stands at ``place`` of a spec's data."""
    for key in place:
        data = data[key]
    return data


def set_at(data: Any, place: tuple[str | int, ...], value: object) -> None:
    """Write ``value`` at ``place``."""
    value_at(data, place[:-1])[place[-1]] = value


def remove_at(data: Any, place: tuple[str | int, ...]) -> None:
    """Remove what stands at ``place``."""
    del value_at(data, place[:-1])[place[-1]]


def take_the_name(data: dict[str, Any], finding: Finding) -> bool:
    """`Did you mean "X"?`: the key or the value is called X."""
    meant = re.search(r'Did you mean "?([^"?]+)"?\?', finding.hint)
    if meant is None:
        return False
    if not finding.message.startswith("unknown key"):
        set_at(data, finding.place, meant[1])
        return True
    wrong = finding.message.split('"')[1]
    holder = value_at(data, finding.place[:-1]) if finding.place[-1] == wrong else value_at(data, finding.place)
    holder[meant[1]] = holder.pop(wrong)
    return True


def write_the_values(data: dict[str, Any], finding: Finding) -> bool:
    """`Write `key: value``: one key or several, in the mapping that the finding stands at or in."""
    if not re.match(r"(Add|Write|Use) `\w+: ", finding.hint):
        return False
    first_choice = finding.hint.split(", or ")[0]
    for key, text in _SNIPPET.findall(first_choice):
        if _LEFT_OPEN.search(text):
            return False
        value = yaml.safe_load(text)
        here = value_at(data, finding.place)
        if finding.place[-1] == key:
            set_at(data, finding.place, value)
        elif isinstance(here, dict):
            here[key] = value
        else:
            set_at(data, (*finding.place[:-1], key), value)
    return True


def write_the_number(data: dict[str, Any], finding: Finding) -> bool:
    """`Write 50 at most.`"""
    number = re.match(r"(?:Write|Use) (\d+)(?: or less| at most)?[.,]", finding.hint)
    if number is None:
        return False
    set_at(data, finding.place, int(number[1]))
    return True


def remove_it(data: dict[str, Any], finding: Finding) -> bool:
    """`Remove it.`, `Remove `key`.`, `Leave it out.`"""
    named = re.match(r"Remove `(\w+)`(?! from)", finding.hint)
    if named is not None and finding.place[-1] != named[1]:
        del value_at(data, finding.place)[named[1]]
        return True
    if named is None and not re.match(r"(Remove (it|this)|Take (it|this) out|Leave it out)\b", finding.hint):
        return False
    remove_at(data, finding.place)
    return True


def add_the_flow(data: dict[str, Any], finding: Finding) -> bool:
    """`Add a flow {from: …}.`"""
    flow = re.match(r"Add a flow (\{[^}]*\})", finding.hint)
    if flow is None or _LEFT_OPEN.search(flow[1]):
        return False
    stated = {"name": "from-a-hint", "owner": "network team", "reason": "A hint of lint."}
    data.setdefault("flows", []).append(stated | yaml.safe_load(flow[1]))
    return True


EDITS: tuple[Edit, ...] = (take_the_name, write_the_values, write_the_number, remove_it, add_the_flow)


def example(code: str) -> tuple[Document, LintResult] | None:
    """The failing example of a rule with its findings; None where it cannot be read at all."""
    try:
        document = read_spec_document(EXAMPLES / code / "bad.yaml")
        return document, judged(document)
    except SpecError:
        return None


def literal_hints(document: Document, result: LintResult, code: str) -> list[tuple[Finding, Document]]:
    """Findings of ``code`` whose hints can be followed word for word, each with the spec after it."""
    followed = []
    for finding in result.findings:
        if finding.code != code or not finding.place:
            continue
        for edit in EDITS:
            data = copy.deepcopy(document.data)
            if edit(data, finding):
                followed.append((finding, replace(document, data=data)))
                break
    return followed


CODES = [file.parent.name for file in sorted(EXAMPLES.glob("CW*/bad.yaml")) if file.parent.name not in NOT_LITERAL]


@pytest.mark.parametrize("code", CODES)
def test_a_hint_that_is_followed_ends_its_finding(code: str) -> None:
    read = example(code)
    if read is None:
        return
    document, before = read
    known_errors = {(error.code, error.message) for error in before.findings}
    for finding, mended in literal_hints(document, before, code):
        after = judged(mended)
        remaining = [other for other in after.findings if (other.code, other.message) == (code, finding.message)]
        assert not remaining, finding.hint
        worse = [
            other
            for other in after.findings
            if other.severity is Severity.ERROR
            and other.code != _PROMISED
            and (other.code, other.message) not in known_errors
        ]
        assert not worse, (finding.hint, [str(other.message) for other in worse])


def test_most_rules_with_literal_hints_are_followed() -> None:
    """A guard against a grammar above that no hint fits any more."""
    followed = 0
    for code in CODES:
        read = example(code)
        if read is not None and literal_hints(*read, code):
            followed += 1
    assert followed >= 60


def test_no_excuse_is_left_for_a_rule_that_is_gone() -> None:
    assert all(Path(EXAMPLES, code, "bad.yaml").exists() for code in NOT_LITERAL)


@pytest.mark.parametrize(
    "entry",
    [
        'lines: ["ntp enable"]',
        "file: var/opt/tms/text-configs/clusterwright\n    merge: {a: 1}",
    ],
)
def test_no_form_is_suggested_to_a_system_that_takes_none(tmp_path: Path, entry: str) -> None:
    """CW171 sent from `lines` to `merge` and back."""
    text = f"extra_config:\n  - role: leaf\n    {entry}\n    reason: a try\n"
    managed = "fabrics: [{name: backend, tiers: [{role: leaf, model: cs8500}]}]\n"
    hints = [finding.hint for finding in findings_of(tmp_path, managed + text, "lab-ib") if finding.code == "CW171"]
    assert hints == ["Remove these switches from the entry: their system takes no `extra_config`."]
