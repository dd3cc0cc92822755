"""Each page and printed sheet of the report says which program made it, of which spec."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.cli.in_process import command
from tests.plans import plan_of

from clusterwright import __version__, data_files
from clusterwright.report.html import origin_of, render_page, report_page

LAB = data_files.folder("inventory") / "lab-roce.yaml"
FOOT = re.compile(r"<footer>clusterwright (\S+) · ([\w.-]+), (sha256:[0-9a-f]{16}) · (.+)</footer>")


def made(folder: Path, comment: str) -> Path:
    spec = folder / "cluster.yaml"
    spec.write_text(f"{LAB.read_text(encoding='utf-8')}# {comment}\n", encoding="utf-8")
    done = command("report", spec, "--out", folder / "report", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "report"


def test_every_page_and_the_style_of_printed_sheets_have_the_same_line(tmp_path: Path) -> None:
    report = made(tmp_path, "one")
    pages = [*report.rglob("*.html")]
    assert len(pages) > 20
    feet = {FOOT.search(page.read_text(encoding="utf-8")) for page in pages}
    lines = {foot.group() for foot in feet if foot is not None}
    assert None not in feet
    (line,) = lines
    assert f"clusterwright {__version__} · cluster.yaml" in line
    assert "30 devices, 197 cables, 64 GPUs" in line
    shown = line.removeprefix("<footer>").removesuffix("</footer>")
    for name in ("report.css", "index.html"):
        assert f'@bottom-left {{ content: "{shown}"' in (report / name).read_text(encoding="utf-8")


def test_another_byte_of_the_spec_is_another_digest(tmp_path: Path) -> None:
    digests = []
    for comment in ("one", "two"):
        foot = FOOT.search((made(tmp_path, comment) / "floor.html").read_text(encoding="utf-8"))
        assert foot is not None
        digests.append(foot[3])
    assert digests[0] != digests[1]


def test_the_name_of_a_file_ends_no_style_sheet() -> None:
    origin = replace(origin_of(plan_of("lab-roce"), ""), source='a";}</style><script>x\\\n')
    text = render_page(report_page(plan_of("lab-roce"), ()), origin)
    assert "</style><script>x" not in text
    assert r"\000022;}\00003c/style>" in text
