"""Every code has a spec that breaks it, the words lint has for that, a spec that passes, and a page of these."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.golden_files import REFRESH

from clusterwright.cli.formats.text import render_text
from clusterwright.cli.source_lines import source_line
from clusterwright.finding import SpecError
from clusterwright.rules.engine import LintResult, lint_path
from clusterwright.rules.pages import Example, index, page
from clusterwright.rules.registry import all_rules
from clusterwright.rules.settings import read_settings
from clusterwright.spec.text.boundary import reading_within

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parent / "examples"
PAGES = REPOSITORY / "docs" / "rules"
INVENTORY = "../../../../inventory/"
CODES = list(all_rules())
UNTRIED = "CW176"  # a note on bases and choices that many examples need
DAY = date(2026, 1, 1)  # on which examples with dates are judged


def result_of(file: str) -> LintResult:
    """What lint finds in ``file``, a spec or the settings of a project."""
    if file.endswith(".yaml"):
        with reading_within([REPOSITORY], "lies outside of the work tree"):  # as with --isolated
            return lint_path(file, DAY)
    try:
        read_settings(Path(file))
    except SpecError as error:
        return LintResult(error.findings, (), (file,))
    return LintResult((), (), (file,))


def output_of(file: str) -> str:
    """What lint prints for ``file`` of the current folder, without where the checkout lies."""
    source_line.__globals__["_lines"].cache_clear()  # examples share the relative name bad.yaml
    # What was not judged changes with every new rule; tests/rules/test_judging.py looks at it.
    result = replace(result_of(file), not_judged=())
    return render_text(result, source_line).replace(f"{REPOSITORY}/", "")


def kind_of(code: str) -> str:
    """What the examples of ``code`` are: specs, or settings."""
    return "toml" if (EXAMPLES / code / "bad.toml").is_file() else "yaml"


def example(code: str) -> Example:
    """The example as its page shows it: the base spec by its bare name."""
    kind = kind_of(code)
    names = (f"bad.{kind}", "expected.txt", f"good.{kind}")
    bad, output, good = ((EXAMPLES / code / name).read_text().replace(INVENTORY, "") for name in names)
    return Example(bad, output, good, kind)


def same_or_refresh(file: Path, text: str) -> None:
    if REFRESH:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.is_file(), f"there is no {file.relative_to(REPOSITORY)}; `make golden` writes it"
    assert text == file.read_text(), f"{file.relative_to(REPOSITORY)} is stale; `make golden` writes it"


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_is_refused_word_for_word(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / code)
    output = output_of(f"bad.{kind_of(code)}")
    assert f" {code}: " in output, output
    same_or_refresh(EXAMPLES / code / "expected.txt", output)


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_passes_without_an_error(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / code)
    result = result_of(f"good.{kind_of(code)}")
    findings = [finding for finding in result.findings if finding.code == code or finding.code != UNTRIED]
    assert not findings, render_text(result, source_line)


@pytest.mark.parametrize("code", CODES)
def test_the_page_is_what_rule_and_example_make(code: str) -> None:
    same_or_refresh(PAGES / f"{code}.md", page(all_rules()[code], example(code)))


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_each_section_once(code: str) -> None:
    headings = re.findall(r"^## .*$", (PAGES / f"{code}.md").read_text(), re.MULTILINE)
    assert len(headings) == len(set(headings))


def test_the_index_and_the_pages_name_every_rule_and_no_other() -> None:
    same_or_refresh(PAGES / "README.md", index(all_rules().values()))
    assert {file.stem for file in PAGES.glob("CW*.md")} == set(CODES)
    assert {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()} == set(CODES)


def test_every_code_that_the_sources_give_out_is_a_rule() -> None:
    given = {
        code for file in (REPOSITORY / "src").rglob("*.py") for code in re.findall(r'"(CW\d{3})"', file.read_text())
    }
    assert given <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_rule_says_why_and_what_to_do_in_sentences(code: str) -> None:
    text = all_rules()[code].text
    assert text.why.endswith((".", ")")), text.why
    assert text.fix.endswith("."), text.fix
    assert not text.title.endswith("."), text.title
