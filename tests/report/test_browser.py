"""The report in a real browser: no errors on the console, no request of its own, filters that filter."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.report.handmade import handmade_plan
from tests.report.specs import plan_of, report_of

from clusterwright.report.figures import figures
from clusterwright.report.html import report_files

if TYPE_CHECKING:
    from pathlib import Path

NOBODY = "not an origin"  # how Chromium's network log names requests that no page made


@dataclass(frozen=True)
class Visit:
    dom: str
    console: tuple[str, ...]
    requests: frozenset[str]


def visit(page: Path, folder: Path, behind: str = "") -> Visit:
    """Opens a page in headless Chromium with a new profile; nothing can be resolved, so nothing leaves the machine.

    ``behind`` is what stands behind the page in its URL: a query, an anchor.
    """
    browser = shutil.which("chromium")
    assert browser is not None, "these tests open the report in Chromium: apt-get install chromium"
    log = folder / f"{page.stem}-net.json"
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update"),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / f'{page.stem}-profile'}",
            "--enable-logging=stderr",
            f"--log-net-log={log}",
            "--virtual-time-budget=3000",
            "--dump-dom",
            f"{page.as_uri()}{behind}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    console = tuple(re.findall(r"CONSOLE[:(]\d+\)?\] (.*)", done.stderr))
    started = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    requests = {
        params["url"]
        for params in started
        if params.get("initiator") not in (None, NOBODY) and not params["url"].startswith(("file:", "data:"))
    }
    return Visit(done.stdout, console, frozenset(requests))


def test_this_test_sees_errors_and_requests(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<script>console.error("seen")</script><img src="http://192.0.2.1/seen.png">')
    seen = visit(page, tmp_path)
    assert any("seen" in line for line in seen.console)
    assert seen.requests == {"http://192.0.2.1/seen.png"}


@pytest.mark.parametrize("name", ["lab-ib", "roce-24k"])
def test_the_report_opens_without_errors_and_asks_for_nothing(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    for file, text in report_of(name).items():
        (tmp_path / file).write_text(text, newline="")
    seen = visit(tmp_path / "index.html", tmp_path)
    assert seen.console == ()
    assert seen.requests == frozenset()
    assert f"<strong>{figures(plan)['gpus']:,.0f}</strong>" in seen.dom
    assert plan.spec.title in seen.dom
    assert seen.dom.count("<svg") >= len(plan.spec.fabrics)


def probed(html: str, script: str) -> str:
    """The page without its policy, with a script that writes what it measured into <output>."""
    html, count = re.subn(r"<meta http-equiv=[^>]*>", "", html)
    assert count == 1
    return html.replace("</body>", f"<output></output><script>{script}</script></body>")


def measured(seen: Visit) -> str:
    assert seen.console == ()
    match = re.search(r"<output>(.*?)</output>", seen.dom, re.DOTALL)
    assert match is not None
    return match[1]


def test_a_filter_leaves_the_rows_that_have_every_word(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    script = """
        const field = document.querySelector("input[data-table=places]");
        field.value = "p01 node"; field.dispatchEvent(new Event("input"));
        const rows = [...document.querySelectorAll("#places tbody tr")].filter((row) => !row.hidden);
        document.querySelector("output").textContent = rows.map((row) => row.cells[0].textContent).join(" ");
    """
    page.write_text(probed(report_files(handmade_plan(racks=11), ())["index.html"], script))
    assert measured(visit(page, tmp_path)).split() == [f"p01r{rack:03d}" for rack in range(11)]


@pytest.mark.parametrize("name", ["lab-roce", "roce-24k", "rsc"])
def test_no_text_of_a_picture_leaves_its_box_or_overlaps_another(name: str, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    script = """
        const found = [];
        for (const svg of document.querySelectorAll("svg")) {
          const frame = svg.viewBox.baseVal;
          const boxes = [...svg.querySelectorAll("rect.box, rect.pill")].map((box) => box.getBBox());
          for (const text of svg.querySelectorAll("text")) {
            const t = text.getBBox();
            if (t.x < 0 || t.y < 0 || t.x + t.width > frame.width || t.y + t.height > frame.height) {
              found.push("outside: " + text.textContent);
            }
            const x = t.x + t.width / 2, y = t.y + t.height / 2;
            const around = boxes.filter((b) => b.x < x && x < b.x + b.width && b.y < y && y < b.y + b.height);
            if (around.length && !around.some((b) => b.x <= t.x && t.x + t.width <= b.x + b.width)) {
              found.push("too wide: " + text.textContent);
            }
          }
        }
        for (const svg of document.querySelectorAll("svg")) {
          const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
          texts.forEach(([one, a], index) => texts.slice(index + 1).forEach(([other, b]) => {
            const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
            const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
            if (wide > 1 && high > 4) found.push("overlap: " + one + " / " + other);
          }));
        }
        document.querySelector("output").textContent = found.join("; ");
    """
    page.write_text(probed(report_of(name)["index.html"], script))
    assert measured(visit(page, tmp_path)) == ""


def test_a_phone_does_not_scroll_sideways(tmp_path: Path) -> None:
    """The page sits in a frame 360 pixels wide, as narrow as phones are; only tables and pictures may scroll."""
    inner = tmp_path / "inner.html"
    inner.write_text(
        probed(
            report_of("roce-24k")["index.html"],
            "const page = document.documentElement; parent.postMessage(page.scrollWidth - page.clientWidth, '*');",
        )
    )
    page = tmp_path / "phone.html"
    page.write_text(
        "<output></output>"
        "<script>onmessage = (e) => { document.querySelector('output').textContent = e.data; };</script>"
        f'<iframe src="{inner.name}" style="width: 360px; height: 700px; border: 0"></iframe>'
    )
    assert measured(visit(page, tmp_path)) == "0"
