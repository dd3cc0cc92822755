"""Pages of docs read like those of other projects: short sentences, narrow tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pages.prose import prose_of

REPOSITORY = Path(__file__).parents[2]
GENERATED = {"access", "cli", "distributions", "effects", "hardware", "spec", "systems", "versions"}
"""Tables that tests write from schemas and from the code's own data: a row holds a whole description."""
DEBTS = Path(__file__).with_name("prose_debts.txt")
"""Pages that nobody has rewritten yet. The list only gets shorter."""
PAGES = {
    page.stem: page
    for page in [
        REPOSITORY / "README.md",
        *sorted((REPOSITORY / "docs").glob("*.md")),
        *sorted((REPOSITORY / "docs/dev").glob("*.md")),
    ]
    if page.stem not in GENERATED
}


def debts() -> set[str]:
    return set(DEBTS.read_text().split())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_easy_to_read(name: str) -> None:
    faults = prose_of(PAGES[name].read_text(encoding="utf-8")).faults()
    if name in debts():
        assert faults, f"{name} reads well now: take it from {DEBTS.name}"
        return
    assert not faults, "\n".join([f"{name}.md is hard to read:", *faults])


def test_debts_are_of_pages() -> None:
    assert debts() <= set(PAGES)


def test_a_long_sentence_a_wide_row_and_a_high_mean_are_faults() -> None:
    long = f"Every {'very ' * 31}long sentence ends."
    assert any("a sentence of" in fault for fault in prose_of(f"{long}\n\n{long}\n").faults())
    assert any("words a sentence" in fault for fault in prose_of(f"{long}\n").faults())
    assert any("a row of" in fault for fault in prose_of(f"| {'x' * 160} |\n").faults())
    assert not prose_of("A page has short sentences. This is one of them.\n\n| a | b |\n").faults()


def test_code_headings_and_links_are_no_prose() -> None:
    page = f"# {'Heading ' * 40}\n\n```console\n$ {'word ' * 60}\n```\n\nSee [the page](x.md#{'y' * 200}) for more.\n"
    prose = prose_of(page)
    assert prose.sentences == ("See the page for more.",)
    assert prose.lengths == (5,)
