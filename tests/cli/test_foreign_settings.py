"""Settings and files of others: which of them a command reads, and which it never does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.rules.ownership import doubt_about

LAB = data_files.folder("inventory") / "lab-roce.yaml"
NOBODY = 65534
SECRET = "s3cr3t-token"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a spec, and settings above it that name a file with rules."""
    (tmp_path / "work").mkdir()
    shutil.copy(LAB, tmp_path / "work/lab.yaml")
    write_settings(tmp_path)
    return tmp_path


def write_settings(folder: Path) -> None:
    (folder / "clusterwright.toml").write_text('rules = ["rules.py"]\n')
    (folder / "rules.py").write_text(f"# {folder}\n")


def lint(project: Path, *options: str, environment: dict[str, str] | None = None) -> tuple[bool, str]:
    """Whether the rules were run, and the output."""
    mark = project / "mark"
    # The same text is run once in a process.
    (project / "rules.py").write_text(f"open({str(mark)!r}, 'w').close()\n# {os.urandom(4).hex()}\n")
    done = command("lint", *options, "lab.yaml", cwd=project / "work", environment=environment)
    was_run = mark.exists()
    mark.unlink(missing_ok=True)
    return was_run, done.stdout + done.stderr


def test_settings_of_ones_own_count(project: Path) -> None:
    assert lint(project)[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to somebody else")
@pytest.mark.parametrize("name", ["clusterwright.toml", "rules.py", "."])
def test_what_belongs_to_somebody_else_is_not_run(project: Path, name: str) -> None:
    os.chown(project / name, NOBODY, NOBODY)
    was_run, output = lint(project)
    assert not was_run
    assert "CW161" in output
    assert "nobody" in output
    assert lint(project, environment={"SUDO_UID": str(NOBODY)})[0], "sudo runs what its caller wrote"
    assert lint(project, environment={"CLUSTERWRIGHT_TRUSTED": str(project)})[0]


@pytest.mark.parametrize("name", ["clusterwright.toml", "rules.py", "."])
def test_what_everybody_may_write_is_not_run(project: Path, name: str) -> None:
    (project / name).chmod(0o777)
    was_run, output = lint(project)
    assert not was_run
    assert "CW161" in output
    (project / ".").chmod(0o1777)
    (project / "clusterwright.toml").chmod(0o644)
    (project / "rules.py").chmod(0o644)
    assert lint(project)[0], "nobody can exchange a file of another in a folder such as /tmp"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to somebody else")
def test_a_link_to_a_file_of_somebody_else_is_not_followed(project: Path) -> None:
    theirs = project / "theirs"
    theirs.mkdir()
    (theirs / "clusterwright.toml").write_text((project / "clusterwright.toml").read_text())
    os.chown(theirs / "clusterwright.toml", NOBODY, NOBODY)
    (project / "clusterwright.toml").unlink()
    (project / "clusterwright.toml").symlink_to(theirs / "clusterwright.toml")
    assert "CW161" in command("lint", "lab.yaml", cwd=project / "work").stdout


def test_settings_above_the_work_tree_or_the_home_are_not_looked_for(project: Path) -> None:
    assert not lint(project, environment={"HOME": str(project / "work")})[0]
    (project / "work/.git").mkdir()
    assert not lint(project)[0]


def test_every_command_that_reads_a_spec_can_be_isolated(project: Path) -> None:
    mark = project / "mark"
    (project / "rules.py").write_text(f"open({str(mark)!r}, 'w').close()\n# once\n")
    for words in (["lint"], ["inventory"], ["render", "--out", "out", "--only", "nothing*"], ["nccl"]):
        command(words[0], "lab.yaml", *words[1:], "--isolated", cwd=project / "work")
        assert not mark.exists(), words
        command(words[0], "lab.yaml", *words[1:], cwd=project / "work", environment={"CLUSTERWRIGHT_ISOLATED": "1"})
        assert not mark.exists(), words


@pytest.mark.parametrize("key", ["extends", "hardware", "macs", "link", "folder"])
@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "gitlab", "junit"])
def test_isolated_neither_reads_nor_shows_files_outside_of_the_work_tree(project: Path, key: str, form: str) -> None:
    (project / "token").write_text(SECRET + "\n")
    work = project / "work"
    text = {
        "extends": "extends: ../token\n",
        "hardware": "extends: lab.yaml\nhardware: [../token]\n",
        "macs": f"extends: lab.yaml\nboot: {{macs: {project}/token}}\n",
        "link": "extends: inner.yaml\n",
        "folder": "extends: inner/token\n",
    }[key]
    (work / "mine.yaml").write_text(text)
    (work / "inner.yaml").symlink_to(project / "token")
    (work / "inner").symlink_to(project)
    for words in (["mine.yaml"], ["."], ["inner.yaml"]):
        done = command("lint", "--isolated", "--format", form, *words, cwd=work)
        assert done.returncode in {0, 1}, done.stderr
        assert SECRET not in done.stdout + done.stderr
    assert "CW162" in command("lint", "--isolated", "mine.yaml", cwd=work).stdout


def test_isolated_lint_of_a_whole_project_reads_what_lies_in_it(project: Path) -> None:
    (project / "work/.git").mkdir()
    (project / "work/deep").mkdir()
    (project / "work/deep/mine.yaml").write_text("extends: ../lab.yaml\n")
    done = command("lint", "--isolated", "mine.yaml", cwd=project / "work/deep")
    assert (done.returncode, done.stdout) == (0, "no findings in 2 files\n")


@pytest.fixture
def revision(project: Path) -> Path:
    """The project as a repository with one commit."""
    chip = {"chip": {"bcm": {"config": {"a": "1"}}}}
    work = project / "work"
    (work / "vendor").mkdir()
    (work / "vendor/agent.conf").write_text(json.dumps(chip))
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t"]):
        subprocess.run(["git", *words], check=True, cwd=work)
    return work


def test_a_revision_has_the_settings_of_the_revision(revision: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = revision.parent / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    write_settings(folder)
    mark = revision.parent / "mark"
    (folder / "rules.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    done = command("diff", "HEAD:lab.yaml", "HEAD:lab.yaml", "--no-config", cwd=revision)
    assert done.returncode == 0, done.stderr
    assert not mark.exists(), "a file beside the folder that the revision is unpacked into"
    (revision / "clusterwright.toml").write_text('[ignore]\nCW999 = "no such rule"\n')
    subprocess.run(["git", "add", "."], check=True, cwd=revision)
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "u"], check=True, cwd=revision)
    assert command("diff", "HEAD~1:lab.yaml", "HEAD~1:lab.yaml", "--no-config", cwd=revision).returncode == 0
    refused = command("diff", "HEAD:lab.yaml", "HEAD:lab.yaml", "--no-config", cwd=revision)
    assert (refused.returncode, "HEAD:clusterwright.toml:2:1: error CW190" in refused.stderr) == (2, True)
    isolated = command("diff", "HEAD:lab.yaml", "HEAD:lab.yaml", "--no-config", "--isolated", cwd=revision)
    assert isolated.returncode == 0, isolated.stderr


def test_everything_that_a_spec_names_comes_from_the_revision(revision: Path) -> None:
    (revision / "notes").mkdir()
    (revision / "notes/macs.csv").write_text("device,port,mac\ncpu-000,eth0,02:00:00:00:00:01\n")
    (revision / "mine.yaml").write_text("extends: lab.yaml\nboot: {macs: notes/macs.csv}\n")
    subprocess.run(["git", "add", "."], check=True, cwd=revision)
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "u"], check=True, cwd=revision)
    before = command("lint", "mine.yaml", cwd=revision)
    shutil.rmtree(revision / "notes")
    done = command("diff", "HEAD:mine.yaml", "HEAD:mine.yaml", "--no-config", cwd=revision)
    assert "does not exist" not in done.stderr, (done.stderr, before.stdout)
    assert done.returncode == 0 or before.returncode == 1, done.stderr


def test_a_group_of_several_may_not_write(tmp_path: Path) -> None:
    file = tmp_path / "clusterwright.toml"
    file.write_text("")
    file.chmod(0o664)
    assert doubt_about(file) is None, "the group of the one account"
    if os.geteuid() == 0:
        os.chown(file, 0, NOBODY)
        assert "may write" in str(doubt_about(file))
