"""What runs on a pull request, as its page has it: pre-commit itself, and the steps of the pipelines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.rules.settings import read_settings

REPOSITORY = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent
PAGE = (REPOSITORY / "docs/pull-requests.md").read_text()
GIT = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
HOOKS = REPOSITORY / ".pre-commit-hooks.yaml"
# In the place of the package, which is hundreds of megabytes: a command of its name that hands over to ours.
STAND_IN = """from setuptools import setup
scripts = ["clusterwright=stand_in:main"]
setup(name="clusterwright", version="0", py_modules=["stand_in"], entry_points={"console_scripts": scripts})
"""
HANDS_OVER = f"""import os, sys
def main():
    os.execv({str(PROGRAMS / "clusterwright")!r}, ["clusterwright", *sys.argv[1:]])
"""
PYTHON3 = """#!/bin/bash
mkdir -p "$3/bin"
printf '#!/bin/bash\\necho "$*" >> {log}\\n' > "$3/bin/pip"
chmod +x "$3/bin/pip"
ln -sf {programs}/clusterwright "$3/bin/clusterwright"
"""


def run(*command: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **GIT, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", **more}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)


def commit(folder: Path) -> str:
    """The commit of everything in ``folder``, which becomes a repository."""
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "--no-verify", "-m", "all"]):
        done = run("git", *command, cwd=folder)
        assert done.returncode == 0, done.stderr
    return run("git", "rev-parse", "HEAD", cwd=folder).stdout.strip()


def block(language: str, word: str) -> str:
    """The block of the page in ``language`` that has ``word``."""
    (found,) = (each for each in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in each)
    return str(found)


def judge(kind: str, file: Path) -> None:
    """Fails where the published schema of ``kind``, as the package check-jsonschema carries it, refuses ``file``."""
    done = run("check-jsonschema", "--builtin-schema", f"vendor.{kind}", file, cwd=file.parent)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of somebody else's, with a spec beside YAML that is none."""
    place = tmp_path / "project"
    (place / "clusters").mkdir(parents=True)
    shutil.copy(data_files.folder("inventory") / "lab-roce.yaml", place / "clusters/lab.yaml")
    (place / "deployment.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\n")
    (place / "clusterwright.toml").write_text('paths = ["clusters"]\n')
    return place


@pytest.mark.parametrize("hook", ["clusterwright-lint", "clusterwright-lint-system"])
def test_pre_commit_runs_the_hook_and_refuses_a_mistake(hook: str, tmp_path: Path, project: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(HOOKS, hooks)
    (hooks / "setup.py").write_text(STAND_IN)
    (hooks / "stand_in.py").write_text(HANDS_OVER)
    config = {"repos": [{"repo": str(hooks), "rev": commit(hooks), "hooks": [{"id": hook}]}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    commit(project)
    own = {"PRE_COMMIT_HOME": str(tmp_path / "cache"), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}

    clean = run("pre-commit", "run", "--all-files", cwd=project, **own)
    (project / "clusters/wrong.yaml").write_text("extends: lab.yaml\ncolour: red\n")
    run("git", "add", "-A", cwd=project)
    refused = run("pre-commit", "run", cwd=project, **own)
    run("git", "commit", "-q", "--no-verify", "-m", "x", cwd=project)
    (project / "README").write_text("nothing to lint\n")
    run("git", "add", "-A", cwd=project)
    skipped = run("pre-commit", "run", cwd=project, **own)

    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert "clusterwright lint" in clean.stdout
    assert "Passed" in clean.stdout
    assert refused.returncode == 1
    assert 'clusters/wrong.yaml:2:1: error CW110: unknown key "colour"' in refused.stdout
    assert "Skipped" in skipped.stdout


def test_hooks_are_what_pre_commit_takes(tmp_path: Path) -> None:
    config = yaml.safe_load(block("yaml", "repos:"))
    (tmp_path / "config.yaml").write_text(block("yaml", "repos:"))
    for command, file in (("validate-manifest", HOOKS), ("validate-config", tmp_path / "config.yaml")):
        done = run("pre-commit", command, file, cwd=tmp_path, PRE_COMMIT_HOME=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stdout
    (hook,) = config["repos"][0]["hooks"]
    published = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text())}[hook["id"]]
    assert {key: hook[key] for key in published.keys() - {"description"}} == {
        key: value for key, value in published.items() if key != "description"
    }


LOCKS = ("requirements-core", "requirements-build")


def steps(folder: Path, project: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the steps of the action one after another, as a runner does, until one fails."""
    (folder / "programs").mkdir(exist_ok=True)
    python = folder / "programs/python3"
    python.write_text(PYTHON3.format(log=folder / "installed", programs=PROGRAMS))
    python.chmod(0o755)
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text())
    given = {name: str(each["default"]) for name, each in action["inputs"].items()} | inputs
    said = ""
    for step in action["runs"]["steps"]:
        values = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], value)
            for name, value in step.get("env", {}).items()
        }
        path = f"{folder / 'programs'}{os.pathsep}{os.environ['PATH']}"
        shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
        done = run(*shell, cwd=project, **values, PATH=path, RUNNER_TEMP=str(folder), GITHUB_ACTION_PATH="/checkout")
        said += done.stdout
        if done.returncode:
            break
    return subprocess.CompletedProcess([], done.returncode, said, done.stderr)


def test_the_action_annotates_and_leaves_a_log(tmp_path: Path, project: Path) -> None:
    clean = steps(tmp_path, project)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")
    assert installed(tmp_path) == list(LOCKS)
    (project / "clusters/wrong.yaml").write_text("extends: lab.yaml\ncolour: red\n")

    wrong = steps(tmp_path, project, sarif="log.sarif")

    assert wrong.returncode == 1
    assert wrong.stdout.startswith("::error file=clusters/wrong.yaml,line=2,col=1,title=CW110::")
    log = json.loads((project / "log.sarif").read_text())
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["CW110"]
    assert steps(tmp_path, project, paths="clusters/lab.yaml deployment.yaml").returncode == 1
    assert steps(tmp_path, project, paths="clusters/lab.yaml", isolated="true").returncode == 0
    assert steps(tmp_path, project, sarif="log.sarif", paths="nowhere.yaml").returncode != 0


def installed(folder: Path) -> list[str]:
    """The locks from which the action installs, before its own checkout."""
    log = folder / "installed"
    lines = [line.removeprefix("--quiet --disable-pip-version-check install --no-deps ") for line in
             log.read_text().splitlines()]  # fmt: skip
    log.unlink()
    assert lines.pop() == "--no-build-isolation /checkout"
    found = [re.fullmatch(r"--require-hashes -r /checkout/(.*)\.lock", line) for line in lines]
    return [match[1] for match in found if match is not None]


def test_the_action_installs_what_a_comment_needs(tmp_path: Path, project: Path) -> None:
    commit(project)
    steps(tmp_path, project, changes="clusters/lab.yaml")
    assert installed(tmp_path) == ["requirements", "requirements-build"]


def test_the_action_comments_what_a_pull_request_changes(tmp_path: Path, project: Path) -> None:
    base = run("git", "rev-parse", "HEAD", cwd=project).stdout.strip() or commit(project)
    (tmp_path / "programs").mkdir(exist_ok=True)
    gh = tmp_path / "programs/gh"
    gh.write_text(f'#!/bin/bash\necho "$*" >> {tmp_path}/asked\n[[ "$*" != *--edit-last* ]]\n')
    gh.chmod(0o755)
    spec = project / "clusters/lab.yaml"
    spec.write_text(spec.read_text().replace("ports: [161, 623]", "ports: [161]", 1))
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text())
    step = next(each for each in action["runs"]["steps"] if each["name"] == "Comment")
    steps(tmp_path, project)
    path = f"{tmp_path / 'programs'}{os.pathsep}{os.environ['PATH']}"
    given = {"CHANGES": "clusters/lab.yaml", "BASE": base, "NUMBER": "7", "RUNNER_TEMP": str(tmp_path)}
    done = run("bash", "-eo", "pipefail", "-c", step["run"], cwd=project, PATH=path, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    comment = tmp_path / "clusterwright.md"
    assert "| zones | closes operations → management: udp 623" in comment.read_text()
    assert "| waves | " in comment.read_text()
    assert "| proofs | " in comment.read_text()
    edited, written = (tmp_path / "asked").read_text().splitlines()
    assert edited == f"pr comment 7 --edit-last --body-file {comment}"
    assert written == f"pr comment 7 --body-file {comment}"


def test_the_action_and_its_workflow_are_what_github_takes(tmp_path: Path) -> None:
    judge("github-actions", REPOSITORY / "action.yml")
    workflow = tmp_path / "workflow.yml"
    workflow.write_text(block("yaml", "on: pull_request"))
    judge("github-workflows", workflow)
    broken = tmp_path / "action.yml"
    broken.write_text((REPOSITORY / "action.yml").read_text().replace("      shell: bash\n", ""))
    with pytest.raises(AssertionError, match="composite"):
        judge("github-actions", broken)


def test_nothing_that_people_copy_has_a_name_to_fill_in() -> None:
    """Where the repository is stands in variables of whoever copies: an OWNER is pasted as it is."""
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]:
        blocks = "".join(re.findall(r"```\w+\n(.*?)```", page.read_text(), re.DOTALL))
        assert not re.search(r"\bOWNER\b|//example\.com|@COMMIT\b|sha256:DIGEST\b", blocks), page.name


def test_the_inputs_of_the_action_are_those_of_the_page() -> None:
    inputs = yaml.safe_load((REPOSITORY / "action.yml").read_text())["inputs"]
    assert list(inputs) == re.findall(
        r"^\| `([\w-]+)` \|", PAGE.partition("| input |")[2].partition("## GitLab")[0], re.M
    )
    used = yaml.safe_load(block("yaml", "on: pull_request"))["jobs"]["lint"]["steps"][2]["with"]
    assert used.keys() <= inputs.keys()


def test_the_template_of_gitlab_leaves_a_report(tmp_path: Path, project: Path) -> None:
    file = tmp_path / ".gitlab-ci.yml"
    file.write_text(block("yaml", "codequality"))
    judge("gitlab-ci", file)
    (job,) = yaml.safe_load(file.read_text()).values()
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\n")
    pip.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    (project / "clusters/wrong.yaml").write_text("extends: lab.yaml\ncolour: red\n")
    done = run("bash", "-eo", "pipefail", "-c", "\n".join(job["script"]), cwd=project, PATH=path)
    assert done.returncode == 1
    (issue,) = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert issue["location"] == {"path": "clusters/wrong.yaml", "lines": {"begin": 2}}


def test_the_settings_of_the_page_are_understood(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/rules.py").write_text("")
    file = tmp_path / "clusterwright.toml"
    file.write_text(block("toml", "paths ="))
    settings = read_settings(file)
    assert settings is not None
    assert settings.policy.ignored == {"CW213": "the last leaf is half full until June"}
    shared = tmp_path / "pyproject.toml"
    tables = re.sub(r"^\[(.+)\]", r"[tool.clusterwright.\1]", file.read_text(), flags=re.MULTILINE)
    shared.write_text(f"[tool.clusterwright]\n{tables}")
    again = read_settings(shared)
    assert again is not None
    assert (again.paths, again.policy.severities) == (settings.paths, settings.policy.severities)
    file.write_text(file.read_text().replace("CW213", "CW299"))
    with pytest.raises(SpecError, match="CW190"):
        read_settings(file)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_to_be_had_for_every_shell_of_the_page(shell: str, tmp_path: Path) -> None:
    assert f"_CLUSTERWRIGHT_COMPLETE={shell}_source clusterwright" in PAGE
    done = run("clusterwright", cwd=tmp_path, _CLUSTERWRIGHT_COMPLETE=f"{shell}_source")
    assert done.returncode == 0, done.stderr
    assert "clusterwright" in done.stdout
    words = {"COMP_WORDS": "clusterwright inv", "COMP_CWORD": "inv" if shell == "fish" else "1"}
    named = run("clusterwright", cwd=tmp_path, _CLUSTERWRIGHT_COMPLETE=f"{shell}_complete", **words)
    assert "inventory" in named.stdout
