"""What a project says in its settings, and which files it has lint look at."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.finding import Severity
from clusterwright.rules.engine import lint_path, lint_paths, load_sound
from clusterwright.rules.policy import AS_WRITTEN

LAB = data_files.folder("inventory") / "lab-roce.yaml"
UNEVEN = "extends: lab.yaml\n# clusterwright: ignore[CW203] a reason\ntitle: x\n"  # CW121: nothing needs it
RULE = """
from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, rule

@rule(code="OURS101", severity=Severity.ERROR, title="t", why="w.", fix="m.")
def short(subject):
    if len(subject.spec.title) < 5:
        yield Problem(("title",), "this title is short.", "Write a longer one.")
"""


def run(*arguments: str | Path, cwd: Path, given: str | None = None) -> CompletedProcess[str]:
    return command("lint", *arguments, cwd=cwd, given=given)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a sound spec, and one whose title is too short for the project."""
    (tmp_path / "specs").mkdir()
    shutil.copy(LAB, tmp_path / "specs/lab.yaml")
    (tmp_path / "specs/short.yaml").write_text("extends: lab.yaml\ntitle: x\n")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/rules.py").write_text(RULE)
    return tmp_path


def settings(project: Path, text: str, name: str = "clusterwright.toml") -> None:
    (project / name).write_text(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("clusterwright.toml", 'rules = ["ours/rules.py"]\n'),
        ("pyproject.toml", '[tool.ruff]\nline-length = 88\n\n[tool.clusterwright]\nrules = ["ours/rules.py"]\n'),
    ],
)
def test_rules_of_the_project_are_judged_like_ours(project: Path, name: str, text: str) -> None:
    settings(project, text, name)
    (finding,) = lint_path(project / "specs/short.yaml").findings
    assert (finding.code, finding.severity, finding.position.line) == ("OURS101", Severity.ERROR, 2)
    with pytest.raises(Exception, match="OURS101"):
        load_sound(project / "specs/short.yaml")  # what deploys refuses it too
    (project / "specs/short.yaml").write_text("extends: lab.yaml\ntitle: x # clusterwright: ignore[OURS101] known\n")
    assert not lint_path(project / "specs/short.yaml").findings
    assert not lint_path(project / "specs/short.yaml", policy=AS_WRITTEN).suppressed


def test_an_ignored_rule_switches_no_other_off(project: Path) -> None:
    spec = project / "specs/short.yaml"
    spec.write_text("extends: lab.yaml\ntitle: x\nexceptions:\n  - {device: rtsw-p00r00, drained: true}\n")
    before = lint_path(spec)
    assert before.findings
    for finding in before.findings:
        settings(project, f'[ignore]\n{finding.code} = "known, and accepted until June"\n')
        after = lint_path(spec)
        if [finding.code for finding in after.findings] == ["CW192"]:
            continue
        assert set(before.findings) - set(after.findings) == {suppression.finding for suppression in after.suppressed}
        assert {suppression.finding.code for suppression in after.suppressed} == {finding.code}
        assert not set(after.findings) - set(before.findings)
        assert {suppression.settings for suppression in after.suppressed} != {""}


def test_a_severity_is_the_projects_and_what_it_does_not_select_is_counted(project: Path) -> None:
    trial = '[severity]\nOURS101 = {severity = "note", reason = "a trial"}\n'
    settings(project, f'rules = ["ours/rules.py"]\nselect = ["CW5"]\n\n{trial}')
    spec = project / "specs/short.yaml"
    assert [finding.severity for finding in lint_path(spec).findings] == [Severity.NOTE]
    assert (lint_paths([spec]).findings, lint_paths([spec]).unselected) == ((), 1)
    assert run(spec, cwd=project).stdout == "no findings in 2 files, 1 not selected\n"
    settings(project, 'select = ["CW5"]\n')
    spec.write_text("extends: lab.yaml\ncolour: red\n")
    assert [finding.code for finding in lint_paths([spec]).findings] == ["CW110"], "nothing can be planned: always told"


def test_settings_that_are_wrong_judge_nothing_and_are_shown_on_their_line(project: Path) -> None:
    settings(
        project, '[tool.clusterwright]\nselekt = ["CW5"]\n\n[tool.clusterwright.ignore]\nCW1 = "x"\n', "pyproject.toml"
    )
    done = run("specs", cwd=project)
    assert done.returncode == 1
    assert 'pyproject.toml:2:1: error CW110: unknown key "selekt" in the top level.' in done.stdout
    assert "no rule was checked" in done.stdout
    settings(project, "[project\nclusterwright", "pyproject.toml")
    assert run("specs", cwd=project).returncode == 0, "not ours to tell"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def broken(:\n", "ours/rules.py:1:1: error CW193"),
        ("\nimport nowhere_at_all\n", "ours/rules.py:2:1: error CW193"),
        (RULE.replace("OURS101", "CW101"), "ours/rules.py:5:1: error CW193"),
        (RULE.replace("    if len", "    subject.nothing\n    if len"), "ours/rules.py:7:1: error CW194"),
        (RULE.replace("yield Problem", "yield str"), "ours/rules.py:8:1: error CW194"),
        (None, "ours/rules.py:1:1: error CW101"),
    ],
)
def test_a_rule_that_does_not_work_is_a_finding_and_no_traceback(project: Path, text: str | None, said: str) -> None:
    settings(project, 'rules = ["ours/rules.py"]\n')
    file = project / "ours/rules.py"
    file.unlink() if text is None else file.write_text(text)
    done = run("specs/short.yaml", cwd=project)
    assert done.returncode == 1
    assert said in done.stdout, done.stdout
    assert not done.stderr
    isolated = run("specs/short.yaml", "--isolated", cwd=project)
    assert (isolated.returncode, isolated.stdout) == (0, "no findings in 2 files\n")


def test_foreign_yaml_of_a_folder_is_passed_over_and_counted(project: Path) -> None:
    for name, text in {
        "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\n",
        "Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
        "template.yml": "{{ if .Values.x }}\n",
        "two.yaml": "a: 1\n---\nb: 2\n",
        "venv/lib/site-packages/x.yaml": LAB.read_text(),
    }.items():
        (project / "specs" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "specs" / name).write_text(text)
    done = run("specs", cwd=project)
    assert (done.returncode, done.stdout) == (0, "no findings in 2 files, 4 other YAML files skipped\n")
    report = json.loads(run("specs", "--format", "json", cwd=project).stdout)
    assert report["skipped"] == [
        f"specs/{name}" for name in ("Chart.yaml", "deployment.yaml", "template.yml", "two.yaml")
    ]
    assert run("specs/deployment.yaml", cwd=project).returncode == 1, "a file that is named is checked"
    for name in ("lab.yaml", "short.yaml"):
        (project / "specs" / name).unlink()
    done = run("specs", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of the 4 YAML files in this folder is a spec" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "version: 2\nname: x\n",
        "version:\nname: x\n",
        '"version": "1" # ours\n"name": x\nnodes: [\n',
        "{version: 1, name: x}\n",
        "extends: gone.yaml\n",
        "kind: hardware\nmodels: {}\n",
    ],
)
def test_a_file_that_says_that_it_is_ours_is_checked_whatever_is_wrong_with_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert run(".", cwd=tmp_path).returncode == 1


def test_paths_and_exclusions_are_relative_to_the_settings(project: Path) -> None:
    settings(project, 'paths = ["specs"]\nexclude = ["specs/old/**", "*.draft.yaml"]\n')
    (project / "specs/old/deep").mkdir(parents=True)
    for name in ("old/deep/broken.yaml", "new.draft.yaml"):
        (project / "specs" / name).write_text("version: 1\nname: x\n")
    assert run(cwd=project).stdout == "no findings in 2 files\n"
    assert run(cwd=project / "ours").stdout == "no findings in 2 files\n"
    assert run("specs/new.draft.yaml", cwd=project).returncode == 1


def test_the_standard_input_is_checked_as_if_it_lay_where_it_is_said_to(project: Path) -> None:
    settings(project, 'rules = ["ours/rules.py"]\n')
    done = run("-", "--stdin-filename", "specs/short.yaml", cwd=project, given="extends: lab.yaml\ntitel: y\n")
    assert done.returncode == 1
    assert done.stdout.startswith(
        'specs/short.yaml:2:1: error CW110: unknown key "titel" in the top level.\n  2 | titel: y\n    | ^^^^^\n'
    )
    assert (project / "specs/short.yaml").read_text() == "extends: lab.yaml\ntitle: x\n"
    assert "<stdin>:1:1: error CW101" in run("-", cwd=project, given="").stdout
    both = run("-", "specs", cwd=project, given="")
    assert both.returncode == 2


def test_quiet_and_statistics(project: Path) -> None:
    assert run("specs", "--quiet", cwd=project).stdout == ""
    (project / "specs/short.yaml").write_text("extends: lab.yaml\na: 1\nb: 2\n")
    done = run("specs", "--statistics", cwd=project)
    assert done.returncode == 1
    assert done.stdout.startswith("     2  CW110  error    unknown key")
    assert run("specs", "--statistics", "--format", "json", cwd=project).returncode == 2
