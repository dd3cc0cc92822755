"""The pages below the report's first: complete, linked both ways, legible in a real browser by whoever reads them."""

from __future__ import annotations

import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.report.specs import plan_of, spec_path
from tests.report.test_browser import measured, visit
from tests.report.test_html import structure

from clusterwright.cli.main import cli
from clusterwright.report.html import origin_of, render_page, report_page
from clusterwright.report.sections.proofs import ProvenClaim

LAB = "lab-roce"
AXE = files("axe_core_python").joinpath("axe.min.js")
PAGES = (
    *("index.html", "floor.html", "devices.html", "search.html"),
    *("racks/p00r00.html", "devices/rtsw-p00r00.html", "devices/gpu-p00r00n0.html"),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    done = CliRunner().invoke(
        cli, ["report", str(spec_path(LAB)), "--prove", "--out", str(folder)], standalone_mode=False
    )
    assert (done.exception, done.return_value) == (None, 0)
    return folder


def test_every_device_and_rack_has_a_page_and_every_link_leads_to_one(report: Path) -> None:
    plan = plan_of(LAB)
    pages = list(report.rglob("*.html"))
    assert {page.stem for page in (report / "devices").iterdir()} == set(plan.by_name)
    assert {page.stem for page in (report / "racks").iterdir()} == {
        device.rack for device in plan.devices if device.rack
    }
    for page in pages:
        for target in structure(page.read_text()).targets:
            file, _, anchor = target.partition("#")
            if not target.startswith(("#", "data:")):
                assert (page.parent / file).is_file(), (page.name, target)
            if anchor.startswith("port-"):
                assert f'id="{anchor}"' in (page.parent / file if file else page).read_text(), (page.name, target)


def test_every_cable_is_on_the_sheet_of_both_its_racks(report: Path) -> None:
    plan = plan_of(LAB)
    sheets = {page.stem: page.read_text() for page in (report / "racks").iterdir()}
    for cable in plan.cables:
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            sheet = sheets[plan.by_name[near.device].rack]
            assert all(f">{each}<" in sheet for each in (near.port, far.port, far.device))
    ends = {rack: sheet.partition('id="cables"')[2].count('class="tick"') for rack, sheet in sheets.items()}
    between = sum(plan.by_name[cable.a.device].rack != plan.by_name[cable.b.device].rack for cable in plan.cables)
    assert sum(ends.values()) == len(plan.cables) + between


def test_a_device_that_is_gone_keeps_no_page(tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "gone.html").write_text("old")
    (tmp_path / "devices" / "notes.txt").write_text("mine")
    done = CliRunner().invoke(cli, ["report", str(spec_path(LAB)), "--out", str(tmp_path)], standalone_mode=False)
    assert done.exception is None
    assert not (tmp_path / "devices" / "gone.html").exists()
    assert (tmp_path / "devices" / "notes.txt").read_text() == "mine"


def test_without_pages_nothing_leads_to_them(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["report", str(spec_path(LAB)), "--no-pages", "--out", str(tmp_path)], standalone_mode=False
    )
    assert done.exception is None
    assert not list(tmp_path.glob("*/*"))
    assert all(
        (tmp_path / word).exists()
        for word in re.findall(r'href="([a-z]+\.\w+)"', (tmp_path / "index.html").read_text())
    )


def test_proofs_are_told_as_they_came_out(report: Path) -> None:
    assert "20 proven." in (report / "index.html").read_text()
    claims = (
        ProvenClaim("one", "This holds.", "proven", 12, "cables", ()),
        ProvenClaim("two", "So does this.", "REFUTED", 3, "ports", ("leaf-00:/x:1: it does not",) * 5),
        ProvenClaim("three", "And this.", "not proven, because a line is not known", 1, "lists", ()),
    )
    html = render_page(report_page(plan_of(LAB), (), (), claims), origin_of(plan_of(LAB), ""))
    assert "1 proven, 1 REFUTED, 1 neither." in html
    assert "And 2 more." in html
    assert "<strong>1 of 3</strong>" in html
    assert "Nothing was proven for this page" in render_page(report_page(plan_of(LAB), ()), origin_of(plan_of(LAB), ""))


def test_nothing_is_proven_of_a_spec_with_errors(tmp_path: Path) -> None:
    spec = tmp_path / "bad.yaml"
    text = spec_path(LAB).read_text()
    spec.write_text(re.sub(r"(figure: gpus, value: )\d+", r"\g<1>7", text))
    done = CliRunner().invoke(
        cli, ["report", str(spec), "--prove", "--out", str(tmp_path / "out")], standalone_mode=False
    )
    assert "nothing is proven of it" in str(done.exception)


def judged(name: str, report: Path, folder: Path, *, dark: bool) -> str:
    """What axe finds serious or critical in a page as Chromium shows it; ``dark`` takes the colours of dark screens."""
    files_of = {each: (report / each).read_text() for each in (name, "report.css", "report.js")}
    if dark:
        files_of = {
            each: text.replace("prefers-color-scheme: dark", "min-width: 1px") for each, text in files_of.items()
        }
    html, count = re.subn(r"<meta http-equiv=[^>]*>", "", files_of[name])
    assert count == 1
    script = """
        axe.run(document, {resultTypes: ["violations"]}).then((found) => {
          const grave = found.violations.filter((each) => ["serious", "critical"].includes(each.impact));
          const said = grave.map((each) => each.id + " at " + each.nodes[0].html.slice(0, 120));
          document.querySelector("output").textContent = "axe: " + said.join("; ");
        });
    """
    added = f"<output></output><script>{AXE.read_text()}</script><script>{script}</script></body>"
    for each, text in (files_of | {name: html.replace("</body>", added)}).items():
        (folder / each).parent.mkdir(exist_ok=True)
        (folder / each).write_text(text)
    return measured(visit(folder / name, folder))


@pytest.mark.parametrize(
    ("name", "dark"),
    [*((name, False) for name in PAGES), (PAGES[0], True), (PAGES[4], True), (PAGES[6], True)],
    ids=str,
)
def test_axe_finds_nothing_serious(name: str, dark: bool, report: Path, tmp_path: Path) -> None:
    """axe-core judges contrast, names, landmarks and tables."""
    assert judged(name, report, tmp_path, dark=dark) == "axe: "


def test_axe_sees_what_cannot_be_read(report: Path, tmp_path: Path) -> None:
    worse = tmp_path / "worse"
    worse.mkdir()
    for each in ("floor.html", "report.css", "report.js"):
        (worse / each).write_text((report / each).read_text())
    (worse / "report.css").write_text((report / "report.css").read_text() + "td { color: #ddd !important; }")
    assert "color-contrast" in judged("floor.html", worse, tmp_path, dark=False)


@pytest.mark.parametrize("name", PAGES[1:])
def test_a_page_opens_under_its_own_policy(name: str, report: Path, tmp_path: Path) -> None:
    seen = visit(report / name, tmp_path)
    assert (seen.console, seen.requests) == ((), frozenset())


def test_a_filter_and_the_style_work_under_the_policy(report: Path, tmp_path: Path) -> None:
    """From a file the policy has to let the page's own style and script through."""
    for each in ("floor.html", "report.css"):
        (tmp_path / each).write_text((report / each).read_text())
    probe = """
        const field = document.querySelector("input[data-table=pulls]");
        field.value = "s00"; field.dispatchEvent(new Event("input"));
        const rows = [...document.querySelectorAll("#pulls tbody tr")].filter((row) => !row.hidden);
        const body = getComputedStyle(document.body).backgroundColor;
        document.querySelector("h1").textContent = rows.every((row) => row.textContent.includes("s00")) + " " + body;
    """
    (tmp_path / "report.js").write_text((report / "report.js").read_text() + probe)
    assert "<h1>true rgb(247, 248, 250)</h1>" in visit(tmp_path / "floor.html", tmp_path).dom


@pytest.mark.parametrize(("width", "is_paper"), [(390, False), (1045, True)], ids=["phone", "A4 across"])
def test_a_sheet_fits(width: int, is_paper: bool, report: Path, tmp_path: Path) -> None:
    """A phone scrolls a table and not the page; paper scrolls nothing, so that no label is cut off."""
    measure = "document.documentElement, ...document.querySelectorAll('table')"
    if not is_paper:
        measure = "document.documentElement"
    probe = f"""
        const wide = [{measure}].map((at) => at.getBoundingClientRect().width + at.scrollWidth - at.clientWidth);
        parent.postMessage(Math.max(...wide) - document.documentElement.clientWidth, "*");
    """
    style = (report / "report.css").read_text()
    (tmp_path / "report.css").write_text(style.replace("@media print", "@media all") if is_paper else style)
    (tmp_path / "racks").mkdir()
    assert float(framed(report / "racks/x00.html", "racks/x00.html", width, probe, tmp_path)) <= 0


def test_on_a_phone_a_wide_table_shows_that_it_goes_on(report: Path, tmp_path: Path) -> None:
    """The page is as wide as the screen; what is wider can be reached by keys, and is shaded where it goes on."""
    probe = """
        const page = document.documentElement, tables = [...document.querySelectorAll(".scroll")];
        const wide = tables.filter((at) => at.scrollWidth > at.clientWidth);
        const shaded = (at) =>
            getComputedStyle(at).backgroundAttachment === "local, local, scroll, scroll" && at.tabIndex === 0;
        const rows = [...document.querySelectorAll("tbody tr")].map((at) => getComputedStyle(at).backgroundColor);
        const said = [page.scrollWidth - page.clientWidth, wide.length > 5, wide.every(shaded), ...new Set(rows)];
        parent.postMessage(said.join(" "), "*");
    """
    assert framed(report / "index.html", "index.html", 390, probe, tmp_path) == "0 true true rgba(0, 0, 0, 0)"


def framed(page: Path, name: str, width: int, probe: str, folder: Path) -> str:
    """What ``probe`` posts from ``page``, laid into ``folder`` by ``name`` and shown ``width`` pixels wide."""
    html = re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text())
    (folder / name).write_text(html.replace("</body>", f"<script>{probe}</script></body>"))
    frame = folder / "frame.html"
    frame.write_text(
        "<output></output>"
        "<script>onmessage = (e) => { document.querySelector('output').textContent = e.data; };</script>"
        f'<iframe src="{name}" style="width: {width}px; height: 700px; border: 0"></iframe>'
    )
    return measured(visit(frame, folder))


def test_a_sheet_is_printed_across(report: Path, tmp_path: Path) -> None:
    """Eleven columns do not fit on upright paper."""
    paper = tmp_path / "sheet.pdf"
    subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"),
            *(f"--print-to-pdf={paper}", (report / "racks/x00.html").as_uri()),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    boxes = re.findall(rb"MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper.read_bytes())
    assert boxes
    assert all(float(width) > float(height) for width, height in boxes)
