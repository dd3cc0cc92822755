"""The report page as text: what it says, what it escapes, how large it is."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from tests.cli.in_process import command
from tests.golden_files import assert_golden
from tests.report.handmade import handmade_plan
from tests.report.specs import SPECS, plan_of, report_of, spec_path

from clusterwright.finding import Finding, Position, Severity
from clusterwright.report.figures import figures
from clusterwright.report.html import origin_of, render_page, report_files, report_page
from clusterwright.report.page import Block, Cell, PageTable, Section
from clusterwright.spec.model import SpecException

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 3_000_000
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Structure(HTMLParser):
    """Collects tags, ids and addresses, and fails on tags that do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.scripts = 0
        self.targets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src"):
                self.targets.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def structure(html: str) -> Structure:
    parser = Structure()
    parser.feed(html)
    assert parser.open == []
    return parser


@pytest.mark.parametrize("name", SPECS)
def test_every_reference_spec_has_a_page_that_opens_fast(name: str) -> None:
    plan = plan_of(name)
    html = report_of(name)["index.html"]
    assert len(html.encode()) < MOST_BYTES
    found = structure(html)
    assert len(found.ids) == len(set(found.ids))
    for target in found.targets:
        assert target == "data:," or target[1:] in found.ids or target.endswith(".csv")
    assert f"{figures(plan)['gpus']:,.0f}" in html
    for expectation in plan.spec.expectations:
        assert expectation.figure in html


def test_everything_a_spec_says_is_escaped() -> None:
    hostile = '<script>alert("x")</script>'
    finding = Finding("CW101", Severity.ERROR, hostile, hostile, Position(hostile, 1, 1))
    html = report_files(handmade_plan(title=hostile), (finding,))["index.html"]
    assert hostile not in html
    assert "&lt;script&gt;" in html
    assert structure(html).scripts == 1


def test_a_long_value_breaks_instead_of_pushing_the_columns_behind_it_off_the_page() -> None:
    page = report_of("lab-roce")["index.html"]
    assert re.search(r'<td class="code long">=mlx5_0,mlx5_1,[^<]*</td>', page)
    assert re.search(r"td\.long \{[^}]*overflow-wrap: anywhere", page)


def test_figures_that_are_met_and_those_that_are_not() -> None:
    html = report_files(handmade_plan(), ())["index.html"]
    assert re.search(r'gpus</td>\s*<td class="number">64</td>.*?<td class="good">met</td>', html, re.DOTALL)
    assert re.search(r'racks</td>\s*<td class="number">5</td>.*?<td class="bad">not met</td>', html, re.DOTALL)


def test_the_picture_has_the_numbers_of_the_plan() -> None:
    html = report_files(handmade_plan(pods=8, racks=192, uplinks=18, upper=24), ())["index.html"]
    for text in ("24 × atsw", "18 × ctsw", "192 × rtsw", "384 × node", "3,456 × 400G", "432 × 400G", "+ 5"):
        assert f">{text}</text>" in html


def test_golden_totals() -> None:
    page = report_page(plan_of("lab-roce"), ())
    lines = [f"{card.label}: {card.value} ({card.detail})" for card in page.cards]
    for section in page.sections:
        lines += ["", f"# {section.title}"]
        for block in section.blocks:
            lines += [text for text in (block.heading, block.text) if text]
            lines += [drawing.description for drawing in block.drawings]
            for table in block.tables:
                lines += [f"## {table.caption}", " | ".join(table.columns)]
                rows = [" | ".join(cell.text for cell in row) for row in table.rows]
                if section.name == "images":  # digest and size change with every file of a node, which are goldens too
                    rows = [re.sub(r"[0-9a-f]{12}|[\d,]{3,}", "N", row) for row in rows]
                lines += rows
    text = "\n".join(lines).replace(str(spec_path("lab-roce").parent), "inventory")
    assert_golden("report/lab-roce/report.txt", f"{text}\n".encode())


def test_the_command_replaces_its_files_and_leaves_others(tmp_path: Path) -> None:
    out = tmp_path / "report"
    out.mkdir()
    (out / "index.html").write_text("old")
    (out / "notes.txt").write_text("mine")
    done = command("report", spec_path("lab-roce"), "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(out / "index.html")
    assert "<!doctype html>" in (out / "index.html").read_text()
    written = {path.name for path in out.iterdir()}
    assert {"addresses.csv", "cables.csv", "devices.csv", "floor.html", "index.html", "notes.txt"} <= written
    assert (out / "notes.txt").read_text() == "mine"


def test_exceptions_and_findings_are_told() -> None:
    plan = handmade_plan()
    drained = SpecException("p00-ctsw01", None, None, "drained", None, "fan tray on order", ())
    finding = Finding("CW213", Severity.WARNING, "Links spread unevenly.", "Use 4.", Position("handmade.yaml", 7, 3))
    html = report_files(replace(plan, spec=replace(plan.spec, exceptions=(drained,))), (finding,))["index.html"]
    for text in ("p00-ctsw01", "fan tray on order", "handmade.yaml:7:3", "Links spread unevenly.", "Use 4."):
        assert f">{text}</td>" in html


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "report"
    place.write_text("mine")
    done = command("report", spec_path("lab-roce"), "--out", place, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written" in done.stderr
    assert place.read_text() == "mine"


def test_a_figure_that_is_not_met_is_shown_instead_of_refused(tmp_path: Path) -> None:
    spec = tmp_path / "lab.yaml"
    text = spec_path("lab-roce").read_text()
    wrong = re.sub(r"(figure: gpus, value: )\d+", r"\g<1>999", text, count=1)
    assert wrong != text
    spec.write_text(wrong)
    assert command("report", spec, "--out", tmp_path / "out", cwd=tmp_path).returncode == 0
    html = (tmp_path / "out" / "index.html").read_text()
    assert '<td class="bad">not met</td>' in html
    assert "CW203" in html


def test_what_stands_between_backticks_is_code_and_stays_text() -> None:
    table = PageTable("one", "One", ("What",), ((Cell("x"),),), note="Ask `lint <SPEC>` & read on.")
    blocks = (Block("", "Give `--prove`."), Block("", "A lone ` stays.", tables=(table,)))
    page = replace(report_page(plan_of("lab-roce"), ()), sections=(Section("all", "All", blocks),))
    text = render_page(page, origin_of(plan_of("lab-roce"), ""))
    assert "<p>Give <code>--prove</code>.</p>" in text
    assert "<p>A lone ` stays.</p>" in text
    assert "Ask <code>lint &lt;SPEC&gt;</code> &amp; read on." in text
