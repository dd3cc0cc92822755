"""The Python interface: what its page says works, is typed, and is all there is."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import clusterwright
from clusterwright.artifact import Artifact
from clusterwright.cli.main import cli
from clusterwright.finding import ClusterwrightError

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"
FUNCTIONS = ("inventory", "lint", "load", "plan", "render", "verify")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("first")
    wish = ["init", str(place), "--nodes", "8", "--node-model", "dgx-h100", "--fabric", "roce"]
    assert CliRunner().invoke(cli, wish, standalone_mode=False).return_value == 0
    return place


def blocks(section: str) -> list[str]:
    """The Python of a section of the page."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_examples_of_the_page_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for block in blocks("From Python"):
        exec(compile(block, PAGE.name, "exec"), names)
    said = capsys.readouterr().out
    assert "isolation proven\n" in said
    assert "64.0 GPUs in 4 racks" in said or "64 GPUs in" in said, said
    assert said.endswith("CW110 wrong.yaml:2:1\n")


def test_the_example_of_a_rule_runs(folder: Path) -> None:
    (folder / "ours").mkdir()
    (rules,) = blocks("Rules of your project")
    (folder / "ours/rules.py").write_text(rules.replace("2048", "4"))
    (folder / "clusterwright.toml").write_text('rules = ["ours/rules.py"]\n')
    (finding,) = clusterwright.lint(folder / "cluster.yaml").findings
    assert (finding.code, finding.message) == ("OURS101", "8 nodes are more than a hall holds.")
    with pytest.raises(ClusterwrightError, match="OURS101"):
        clusterwright.load(folder / "cluster.yaml")
    assert not clusterwright.lint([folder / "cluster.yaml"], settings=False).findings
    (folder / "clusterwright.toml").unlink()


def test_files_alone_are_proven_as_far_as_they_go(folder: Path) -> None:
    plan = clusterwright.plan(clusterwright.load(str(folder / "cluster.yaml")))
    files = clusterwright.render(plan)
    verdicts = clusterwright.verify(files)
    assert verdicts["reachability"].is_proven
    assert verdicts["isolation"].word == "not compared with a matrix"
    spoilt = [
        Artifact(file.device, file.path, file.content.replace(b"9000", b"1500", 1), file.kind, file.mode)
        for file in files
    ]
    assert any(verdict.is_refuted for verdict in clusterwright.verify(spoilt).values())
    with pytest.raises(ClusterwrightError):
        clusterwright.inventory(plan, "nowhere")
    with pytest.raises(ClusterwrightError, match="no such file"):
        clusterwright.lint(folder / "nowhere.yaml")


def test_nothing_else_is_public_and_everything_public_is_typed_and_documented() -> None:
    assert set(clusterwright.__all__) == {*FUNCTIONS, "__version__"}
    for name in FUNCTIONS:
        signature = inspect.signature(vars(clusterwright)[name] if name != "plan" else clusterwright.plan)
        assert signature.return_annotation is not inspect.Signature.empty
        assert f"| `{name}` |" in PAGE.read_text()
    assert (Path(clusterwright.__file__).parent / "py.typed").is_file()


def test_importing_it_imports_nothing_of_it() -> None:
    program = "import sys, clusterwright; print([m for m in sys.modules if m.startswith('clusterwright')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['clusterwright']\n"


def test_plan_is_called_alike_before_and_after_its_package_is_imported(folder: Path) -> None:
    program = (
        f"import clusterwright; spec = clusterwright.load({str(folder / 'cluster.yaml')!r}); "
        "first = clusterwright.plan(spec); import clusterwright.plan.build; "
        "assert clusterwright.plan(spec).cables == first.cables"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
