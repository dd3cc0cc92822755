"""The site: every page in its section, built without a word of warning, with a search and nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.golden_files import REFRESH
from tests.pages.pictures import PICTURES
from tests.report.test_browser import visit

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = (REPOSITORY / "Makefile").read_text().partition("sphinx-build ")[2].partition(" \\\n")[0].split()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            *command,
            "-c",
            "tools/site",
            "-d",
            folder / "doctrees",
            "docs",
            folder / "html",
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_the_site_has_every_page_and_a_search(site: Path) -> None:
    pages = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert not [page for page in pages if not (site / page).is_file()]
    index = (site / "searchindex.js").read_text()
    assert "drift" in index
    assert (site / "search.html").is_file()


def test_the_site_asks_nobody_else_for_anything(site: Path) -> None:
    for page in (site / "index.html", site / "spec.html", site / "rules" / "CW203.html"):
        asked = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]+)"', page.read_text())
        assert not asked, page.name


def test_the_site_has_a_list_of_its_pages_for_programs(site: Path) -> None:
    """llms.txt, as https://llmstxt.org has it: a title, a summary, and links to the pages' own text."""
    text = (site / "llms.txt").read_text()
    lines = text.splitlines()
    assert (lines[0], lines[2][:2]) == ("# clusterwright", "> ")
    linked = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)
    assert linked == re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", (DOCS / "index.md").read_text(), re.MULTILINE)
    for page in linked:
        assert (site / page).read_text() == (DOCS / page).read_text()


def test_the_first_page_has_pictures_cards_and_buttons(site: Path, tmp_path: Path) -> None:
    """In a browser: a card for each reader, beside each other, and a button that copies commands alone."""
    index = (site / "index.html").read_text()
    assert len(re.findall(r"<img [^>]*\.svg", index)) >= 2
    shown = shutil.copytree(site, tmp_path / "site")
    script = """<script>addEventListener("load", () => {
      const cards = [...document.querySelectorAll("section#clusterwright > .table-wrapper tbody tr")];
      const lefts = new Set(cards.map((card) => Math.round(card.getBoundingClientRect().left)));
      document.title = [cards.length, lefts.size > 1].join(" ");
    });</script>"""
    (shown / "index.html").write_text(index.replace("</body>", f"{script}</body>"))
    seen = visit(shown / "index.html", tmp_path)
    assert re.search(r"<title>(\d+) true</title>", seen.dom), seen.dom[:500]
    page = shown / "lab.html"
    script = """<script>addEventListener("load", () => {
      const blocks = [...document.querySelectorAll("div.highlight")];
      const console = blocks.find((block) => /^\\$ /m.test(block.textContent));
      document.title = blocks.every((block) => block.querySelector(".copy")) + " " + copied(console).includes("$ ");
    });</script>"""
    page.write_text(page.read_text().replace("</body>", f"{script}</body>"))
    seen = visit(page, tmp_path)
    assert "<title>true false</title>" in seen.dom
    assert seen.requests == frozenset()


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# x\n\n[nowhere](spec.md#nothing-of-that-name), [gone](gone.md)\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-n",
            "-c",
            "tools/site",
            tmp_path,
            tmp_path / "out",
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "spec.md" in done.stderr
    assert "gone.md" in done.stderr


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_what_their_lists_make(name: str) -> None:
    file, made = DOCS / "pictures" / name, PICTURES[name]()
    if REFRESH:
        file.write_text(made, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == made, f"{name} is stale; `make golden` writes it"
    ElementTree.fromstring(made)
