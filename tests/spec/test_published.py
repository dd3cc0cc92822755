"""The published designs: each lints without an error, plans to the figures of its sources, and is listed with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.finding import Severity
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

DESIGNS = sorted((data_files.folder("inventory") / "published").glob("*.yaml"))
PAGE = (data_files.folder("docs") / "published.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if re.search(r"\| \d+ of \d+", line)]


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_it_has_no_finding_but_what_nobody_tried(path: Path) -> None:
    findings = lint_path(path).findings
    assert [(finding.code, finding.message) for finding in findings if finding.severity > Severity.NOTE] == []


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_every_expected_figure_has_a_source(path: Path) -> None:
    spec = load_spec(path)
    assert spec.expectations
    assert all(expectation.source for expectation in spec.expectations)


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_the_page_lists_it_with_its_lines_and_figures(path: Path) -> None:
    (row,) = [line for line in ROWS if f"`{path.stem}`" in line]
    lines, met = re.findall(r"\| (\d+) \| (\d+) of \d+", row)[0]

    assert int(lines) == len(path.read_text(encoding="utf-8").splitlines())
    assert int(met) == len(load_spec(path).expectations)


def test_the_page_lists_nothing_else() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([a-z0-9-]+)`", row)}
    assert named == {path.stem for path in DESIGNS}


@pytest.mark.parametrize(
    ("name", "nodes", "spines"),
    [
        ("b300-spectrum-16su", 64, 64),
        ("mi300x-1024", 32, 16),
        ("b300-xdr-1su", 72, 4),
        ("era-289-800", 64, 4),
        ("oracle-multiplanar", 36, 2),
    ],
)
def test_one_unit_is_rendered_and_proven(tmp_path: Path, name: str, nodes: int, spines: int) -> None:
    source = data_files.folder("inventory") / "published" / f"{name}.yaml"
    figures = {expectation.figure for expectation in load_spec(source).expectations}
    removed = "".join(f"  - {{figure: {figure}, remove: true}}\n" for figure in sorted(figures))
    path = tmp_path / "unit.yaml"
    path.write_text(
        f"version: 1\nextends: {source}\nname: unit\nnodes: [{{name: compute, count: {nodes}}}]\n"
        f"fabrics: [{{name: backend, tiers: [{{role: spine, count: {spines}}}]}}]\nexpect:\n{removed}"
    )

    done = command("verify", path, cwd=tmp_path)

    assert "REFUTED" not in done.stdout
    assert ": proven." in done.stdout, done.stdout + done.stderr


def test_a_design_is_copied_to_start_from(tmp_path: Path) -> None:
    done = command("init", tmp_path / "mine", "--from", "b300-xdr-2su", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert build_plan(load_spec(tmp_path / "mine/cluster.yaml")).name == "b300-xdr-2su"
